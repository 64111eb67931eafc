# SPDX-License-Identifier: BSD-2-Clause
"""--cgroup, --container and --unit: processes that are in the group at the start, and those that come."""
import ctypes
import os
import signal
import subprocess
import sys
import time

from lib import (SLOW, USAGE, Memflame, Target, check, equal, example, lossless, run, wait_until)

CLONE_INTO_CGROUP, SYS_CLONE3 = 0x200000000, 435


def mount_point():
    with open("/proc/self/mountinfo", encoding="utf-8") as stream:
        points = [line.split()[4] for line in stream if " - cgroup2 " in line]
    if not points:
        print("SKIPPED: cgroup v2 is not mounted")
        sys.exit(77)
    return points[0]


MOUNT = mount_point()
NAME = f"memflame-e2e-{os.getpid()}"
BASE = f"{MOUNT}/{NAME}"
ID_A, ID_B = "a1b2" + "0" * 59 + "a", "a1b3" + "0" * 59 + "b"
FOLDERS = [BASE, f"{BASE}/one", f"{BASE}/docker-{ID_A}.scope", f"{BASE}/pod/{ID_B}",
           f"{BASE}/conmon", f"{BASE}/conmon/crio-conmon-{ID_A}.scope", f"{BASE}/{NAME}.service",
           f"{BASE}/one/_memory.service", f"{BASE}/one/twice.service", f"{BASE}/pod/twice.service"]
for folder in FOLDERS:
    os.makedirs(folder, exist_ok=True)


def clean_up():
    for folder in sorted({*FOLDERS, f"{BASE}/pod"}, key=len, reverse=True):
        with open(f"{folder}/cgroup.procs", encoding="utf-8") as stream:
            for pid in stream.read().split():
                os.kill(int(pid), signal.SIGKILL)
        end = time.monotonic() + 10
        while os.path.exists(folder) and time.monotonic() < end:
            try:
                os.rmdir(folder)
            except OSError:
                time.sleep(0.05)


def move(pid, folder):
    with open(f"{folder}/cgroup.procs", "w", encoding="utf-8") as stream:
        stream.write(str(pid))


def within(folder):
    return {"preexec_fn": lambda: move(os.getpid(), folder)}


def exact(probe, program):
    """One process inside from the start, one moved in, and one outside that does the same."""
    there = Target(program, **within(f"{BASE}/one"))
    moved, outside = Target(program), Target(program)
    children = ["--children", "exact"] if probe == "alloc" else []
    memflame = Memflame(probe, "--cgroup", NAME, "--per-pid", *children)
    move(moved.pid, BASE)
    time.sleep(3 if SLOW else 1)  # its space is known a moment later
    truths = [(target.pid, target.work()) for target in (outside, there, moved)][1:]
    memflame.stop()
    for target in (there, moved, outside):
        target.end()
    profile, summary = memflame.profile(), memflame.summary()
    for pid, truth in truths:
        profile.compare(truth["functions"], f"{program} (pid {pid})")
    lossless(profile, summary)
    check({there.pid, moved.pid} <= set(summary["pids"]), f"pids of {probe}: {summary['pids']}")
    check(outside.pid not in summary["pids"], f"the one outside, {outside.pid}, is left alone")
    equal("cgroups", profile.roots, {f"/{NAME}", f"/{NAME}/one"})


def born_into(folder):
    """A child that starts in another cgroup than its parent's."""
    into = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    arguments = (ctypes.c_uint64 * 11)(CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, into)
    pid = ctypes.CDLL(None).syscall(SYS_CLONE3, arguments, ctypes.sizeof(arguments))
    if pid == 0:
        time.sleep(1)
        os._exit(0)
    os.close(into)
    check(pid > 0, "clone3() into a cgroup")
    return pid


def children():
    target = Target("forker", **within(f"{BASE}/one"))
    memflame = Memflame("alloc", "--cgroup", f"{BASE}/one", "--children", "exact")
    truth = target.work()
    # A process that has left the cgroup is watched until its next exec.
    leaver = subprocess.run(["sh", "-c", f"echo $$ > {MOUNT}/cgroup.procs; exec {example('many_stacks')} 300"],
                            stdout=subprocess.DEVNULL, check=False, **within(f"{BASE}/one"))
    equal("exit status of the one that left", leaver.returncode, 0)
    comer = subprocess.run([example("short_lived")], check=False, **within(f"{BASE}/one"))
    equal("exit status of the one that came", comer.returncode, 0)
    born = born_into(f"{BASE}/one")
    os.waitpid(born, 0)
    memflame.stop()
    target.end()
    profile, summary = memflame.profile(), memflame.summary()
    profile.compare(truth["functions"])
    profile.compare(truth["children"])
    lossless(profile, summary)
    equal("one that came", profile.sum("live", "allocate_and_vanish"), 123456)
    equal("one that left", profile.has("many_stacks"), False)
    check(born in summary["pids"], f"{born}, which began there, is among {summary['pids']}")


def containers():
    first = Target("many_stacks", "300", **within(f"{BASE}/docker-{ID_A}.scope"))
    second = Target("many_stacks", "500", **within(f"{BASE}/pod/{ID_B}"))
    beside = Target("many_stacks", "700", **within(f"{BASE}/conmon/crio-conmon-{ID_A}.scope"))
    both = Memflame("alloc", "--container", ID_A[:4], "--container", f"docker://{ID_B}")
    one = Memflame("alloc", "--container", ID_B[:12])
    for target in (first, second, beside):
        target.work()
    both.stop()
    one.stop()
    profile = both.profile()
    equal("containers", profile.roots, {f"container {ID_A[:12]}", f"container {ID_B[:12]}"})
    for ident, count in ((ID_A, 300), (ID_B, 500)):
        equal(f"blocks in {ident}",
              profile.sum("live-count", f"container {ident[:12]}", "many_stacks", "reach_leaf"), count)
    equal("a single container needs no frame", one.profile().roots, {"many_stacks"})
    equal("blocks in it", one.profile().sum("live-count", "reach_leaf"), 500)
    equal("as typed", one.summary()["command"], f"memflame alloc --container {ID_B[:12]}")
    done = run("alloc", "--container", "a1b", "-d", "1", status=1)
    check("2 containers" in done.stderr and ID_A[:12] in done.stderr, f"ambiguous: {done.stderr}")
    for target in (first, second, beside):
        target.end()


def units():
    service = Target("many_stacks", "300", **within(f"{BASE}/{NAME}.service"))
    memory = Target("many_stacks", "500", **within(f"{BASE}/one/_memory.service"))
    by_unit = Memflame("alloc", "--unit", NAME)
    escaped = Memflame("alloc", "--unit", f"{NAME}.service", "--unit", "memory.service") \
        if not others("memory.service") else None
    service.work()
    memory.work()
    by_unit.stop()
    equal("blocks of the unit", by_unit.profile().sum("live-count", "reach_leaf"), 300)
    if escaped:
        escaped.stop()
        equal("blocks of two units", escaped.profile().sum("live-count", "reach_leaf"), 800)
    done = run("alloc", "--unit", "twice", "-d", "1", status=1)
    check(f"{BASE}/pod/twice.service" in done.stderr, f"ambiguous: {done.stderr}")
    for target in (service, memory):
        target.end()


def others(unit):
    """Where this machine has another unit of this name."""
    return [folder for folder, _, _ in os.walk(MOUNT)
            if os.path.basename(folder) in (unit, "_" + unit) and not folder.startswith(BASE)]


def refusals():
    for words, hints in ((["--cgroup", "no/such"], [f"{MOUNT}/no/such"]),
                         (["--cgroup", "/proc"], ["/proc", "cgroup v2"]),
                         (["--container", "ffffffff"], ["/proc/PID/cgroup"]),
                         (["--unit", "no-such"], ["no-such.service", MOUNT])):
        done = run("fault", *words, "-d", "1", "-o", "/dev/null", status=1)
        check(all(hint in done.stderr for hint in hints), f"{words}: {done.stderr}")
        equal(f"lines about {words}", len(done.stderr.splitlines()), 1)
    for words in (["--cgroup", "/", "-p", "1"], ["--unit", "a", "--comm", "b"],
                  ["--container", "a", "--", "true"], ["--cgroup", ""],
                  ["--cgroup", "/", "--no-children"]):
        run("fault", *words, status=USAGE)


try:
    exact("alloc", "alloc_truth")
    for probe in ("brk", "mmap", "fault"):
        exact(probe, f"{probe}_truth")
    children()
    containers()
    units()
    refusals()
finally:
    clean_up()
wait_until(lambda: not os.path.exists(BASE), "the cgroups are gone", 10)
