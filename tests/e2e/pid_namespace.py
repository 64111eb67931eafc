# SPDX-License-Identifier: BSD-2-Clause
"""memflame in a PID namespace of its own, as in a sidecar: pids are those of that namespace, what is
outside of it is never seen, and what cannot be told apart is refused.

The case starts itself once more inside of a namespace. The decoys run outside, under the same names
as the targets inside, and do the same at the same time.
"""
import os
import re
import subprocess
import sys

from lib import (MEMFLAME, REQUIREMENT, Memflame, Target, check, equal, example, lossless, observe,
                 path, run, spawn, wait_until)

UNSHARE = ["unshare", "-m", "-p", "-f", "--mount-proc"]


def children_of(pid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stream:
                if int(stream.read().rsplit(") ", 1)[1].split()[1]) == pid:
                    found.append(int(name))
        except OSError:
            pass  # it has ended
    return found


class Nested(Target):
    """A target that is process 1 of a child namespace."""

    def __init__(self, program):
        self.process = spawn([*UNSHARE, example(program), "--wait"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        equal("what it thinks that it is", self.process.stdout.readline(), "ready 1\n")
        self.pid, = children_of(self.process.pid)


class Decoy:
    """The pipes of a target outside the namespace."""

    def __init__(self, variable):
        stdin, stdout = map(int, os.environ[variable].split())
        self.stdin, self.stdout = os.fdopen(stdin, "w"), os.fdopen(stdout)

    def work(self):
        self.stdin.write("go\n")
        self.stdin.flush()
        for line in self.stdout:
            if line == "done\n":
                return
        raise SystemExit("FAILED: a decoy ended early")


def measure_nested():
    target = Nested("alloc_truth")
    memflame = Memflame("alloc", "-p", target.pid, "--children", "exact")
    truth = target.work()
    memflame.stop()
    target.end()
    memflame.profile().compare(truth["functions"])
    lossless(memflame.profile(), memflame.summary())
    equal("the first pid", memflame.summary()["pids"][0], target.pid)


def inside():
    equal("this is a namespace of its own", os.getpid(), 1)
    for probe, program in (("alloc", "alloc_truth"), ("brk", "brk_truth"), ("mmap", "mmap_truth"),
                           ("fault", "fault_truth")):
        pid = []
        profile, summary, truth = observe(probe, program, "--per-pid", before=pid.append)
        profile.compare(truth["functions"])
        lossless(profile, summary)
        equal(f"first pid of {probe}", summary["pids"][0], pid[0])
        check(f"{program} (pid {pid[0]})" in profile.roots, f"roots of {probe}: {profile.roots}")
        check(all(p < 1000 for p in summary["pids"]), f"children of {probe}: {summary['pids']}")
    profile, summary, truth = observe("alloc", "forker", "--per-pid")
    profile.compare(truth["functions"])
    profile.compare(truth["children"])
    lossless(profile, summary)
    check(all(pid < 1000 for pid in summary["pids"]), f"pids of children: {summary['pids']}")

    # The same name outside. A process that starts after memflame is found at its exec.
    decoy = Decoy("DECOY_ALLOC")
    earlier = Target("many_stacks", "300")
    memflame = Memflame("alloc", "--comm", "many_stacks", "--children", "exact")
    later = Target("many_stacks", "500")
    wait_until(lambda: later.pid in children_of(os.getpid()), "the later one")
    for target in (earlier, decoy, later):
        target.work()
    memflame.stop()
    for target in (earlier, later):
        target.end()
    equal("blocks of both", memflame.profile().sum("live-count", "reach_leaf"), 800)
    equal("pids by name", sorted(set(memflame.summary()["pids"])), sorted([earlier.pid, later.pid]))

    memflame = Memflame("alloc", "--", example("many_stacks"), "500",
                        stdout=subprocess.PIPE).wait()
    equal("blocks of a command", memflame.profile().sum("live-count", "reach_leaf"), 500)
    lossless(memflame.profile(), memflame.summary())

    # An allocator's calls, one by one.
    target = Target("many_stacks", "20")
    with open(path("trace"), "w", encoding="utf-8") as lines:
        memflame = Memflame("leaks", "--trace", "-p", target.pid, stdout=lines)
        target.work()
        memflame.stop()
    target.end()
    with open(path("trace"), encoding="utf-8") as lines:
        calls = [line.split() for line in lines if re.match(r"\d+\.\d+ \d", line)]
    check(len(calls) >= 20, f"lines of --trace: {len(calls)}")
    check(all(str(target.pid) in call[1] for call in calls), f"pids of --trace: {calls[0]}")

    # Without a target: all processes of this namespace but memflame.
    decoy = Decoy("DECOY_FAULT")
    memflame = Memflame("fault", "--per-pid")
    target = Target("fault_truth")
    decoy.work()
    target.work()
    memflame.stop()
    target.end()
    profile = memflame.profile()
    equal("pages of the one inside", profile.sum("gained", "write_pages"), 3000)
    check(f"fault_truth (pid {target.pid})" in profile.roots, f"roots: {profile.roots}")
    check(not any("memflame" in root for root in profile.roots), f"roots: {profile.roots}")
    check("PID namespace" in memflame.stderr(), f"says what it has watched: {memflame.stderr()}")
    check("whole system" not in memflame.summary()["command"], memflame.summary()["command"])
    for words in (["kernel"], ["leaks", "--kernel"]):
        done = run(*words, "-d", "1", "-o", path("kernel.json"), status=REQUIREMENT)
        check("PID namespace" in done.stderr, f"says why: {done.stderr}")
        equal("output file", os.path.exists(path("kernel.json")), False)
    run("kernel", "-p", "1", "-d", "0.2", "-o", path("kernel.json"))

    measure_nested()

    # /proc of this namespace in a child namespace, where its pids would mean other processes.
    for words in (["alloc", "-p", "1"], ["fault"], ["leaks", "--comm", "sh"]):
        done = subprocess.run(["unshare", "-p", "-f", MEMFLAME, *words, "-d", "1", "-o", path("no.json")],
                              capture_output=True, text=True, check=False)
        equal(f"exit status of {words}: {done.stderr}", done.returncode, REQUIREMENT)
        check("/proc" in done.stderr and "nsenter" in done.stderr, f"says what to do: {done.stderr}")
        equal("output file", os.path.exists(path("no.json")), False)


if "--inside" in sys.argv:
    inside()
    sys.exit(0)

measure_nested()  # by its pid here, as ever
environment, descriptors = dict(os.environ), []
for variable, decoy in (("DECOY_ALLOC", Target("many_stacks", "300")),
                        ("DECOY_FAULT", Target("fault_truth"))):
    ends = [decoy.process.stdin.fileno(), decoy.process.stdout.fileno()]
    environment[variable] = f"{ends[0]} {ends[1]}"
    descriptors += ends
done = subprocess.run([*UNSHARE, sys.executable, os.path.abspath(__file__), "--inside"],
                      env=environment, pass_fds=descriptors, check=False)
equal("the part inside", done.returncode, 0)
