# SPDX-License-Identifier: BSD-2-Clause
"""memflame's privileges while it counts and while it reads names, and a file that ends the process that
reads names. The started program keeps all of its privileges."""
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys

from lib import MEMFLAME, Memflame, Target, check, equal, example, losses, path, wait_until

# The numbers are those of linux/capability.h.
DAC_OVERRIDE, DAC_READ_SEARCH, SETGID, SETUID = 1, 2, 6, 7
SYS_PTRACE, SYSLOG, PERFMON, BPF, CHECKPOINT_RESTORE = 19, 34, 38, 39, 40
SYS_ADMIN = 21
WRITING = {DAC_OVERRIDE, DAC_READ_SEARCH, SYS_PTRACE, SYSLOG}
COUNTING = WRITING | {PERFMON, BPF, CHECKPOINT_RESTORE}
# On such kernels, probes that come later may be perf events.
if tuple(int(part) for part in os.uname().release.split(".")[:2]) < (6, 10):
    COUNTING |= {SYS_ADMIN}


def status(folder):
    with open(f"{folder}/status", encoding="utf-8") as stream:
        return dict(line.rstrip("\n").split(":\t", 1) for line in stream if ":\t" in line)


def capabilities(fields, name):
    mask = int(fields[name], 16)
    return {number for number in range(64) if mask >> number & 1}


OWN = capabilities(status("/proc/self"), "CapEff")


def threads(pid):
    return [status(f"/proc/{pid}/task/{thread}") for thread in os.listdir(f"/proc/{pid}/task")]


def namers_of(memflame):
    """Each process that reads names for memflame, stopped right after its last step into the sandbox."""
    seen = set()
    tasks = f"/proc/{memflame.process.pid}/task"
    while memflame.process.poll() is None:
        try:
            for thread in os.listdir(tasks):
                with open(f"{tasks}/{thread}/children", encoding="ascii") as stream:
                    children = [int(child) for child in stream.read().split()]
                for child in children:
                    fields = status(f"/proc/{child}")
                    # Builds with AddressSanitizer have no filter.
                    if child in seen or fields["Name"] != "memflame-names" or fields["Seccomp"] == "0":
                        continue
                    os.kill(child, signal.SIGSTOP)
                    seen.add(child)
                    yield child
        except (FileNotFoundError, ProcessLookupError, KeyError):
            pass


# Finding names takes a while: the program is memflame itself, with its debug information.
def watch_memflame(*options):
    folded = path("much.folded")
    if not os.path.exists(folded):
        with open(folded, "w", encoding="ascii") as stream:
            stream.writelines(f"a;b{i % 999};c{i} 1\n" for i in range(20000))
    return Memflame("fault", *options, "--", MEMFLAME, "collapse", "-o", path("out"), folded,
                    wait=False)


if not os.path.exists("/proc/self/task/self/children") and not os.path.exists(
        f"/proc/self/task/{os.getpid()}/children"):
    print("SKIPPED: this kernel does not list children")
    sys.exit(77)

# While it counts, in all of its threads.
target = Target("alloc_truth")
for arguments in (("alloc", "-p", target.pid),
                  ("alloc", "--children", "follow", "-p", target.pid),
                  ("leaks", "-p", target.pid, "1")):
    memflame = Memflame(*arguments)
    emptiers = 0
    for fields in threads(memflame.process.pid):
        # The thread that only empties the kernel's log of mappings has none.
        emptying = fields["Pid"] != str(memflame.process.pid) and not capabilities(fields, "CapEff")
        emptiers += emptying
        for name in ("CapEff", "CapPrm"):
            equal(f"{name} of {arguments}", capabilities(fields, name), set() if emptying else OWN & COUNTING)
        equal("CapBnd", capabilities(fields, "CapBnd"), set())
        equal("CapInh", capabilities(fields, "CapInh"), set())
        equal("NoNewPrivs", fields["NoNewPrivs"], "1")
    equal("threads without a right", emptiers, 1)
    memflame.stop()
# Under sudo outputs are written as the caller.
memflame = Memflame("alloc", "-p", target.pid, env={**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"})
equal("CapEff under sudo", capabilities(status(f"/proc/{memflame.process.pid}"), "CapEff"),
      OWN & (COUNTING | {SETUID, SETGID}))
memflame.stop()
target.work()
target.end()

# The started program has what it would have without memflame.
target = Memflame("fault", "--", "sh", "-c", f"cat /proc/self/status > {path('status')}",
                  wait=False).wait()
with open(path("status"), encoding="utf-8") as stream:
    started = dict(line.rstrip("\n").split(":\t", 1) for line in stream if ":\t" in line)
for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp"):
    equal(f"{name} of the started program", started[name], status("/proc/self")[name])
if shutil.which("su"):  # with its set-user-id bit, from a user who may do nothing
    shutil.copy(sys.executable, path("python"))
    os.chmod(path("python"), 0o4755)
    done = subprocess.run([MEMFLAME, "fault", "--user", "nobody", "-o", path("id.svg"), "--",
                           path("python"), "-c", "import os; print(os.geteuid())"], capture_output=True, text=True, check=False)
    equal("exit status", done.returncode, 0)
    equal("the user that a set-user-id program runs as", done.stdout, "0\n")

# While it reads names. If that process is killed, another one reads the symbol table only; if all are killed, names
# are missing. The picture is written in any case.
for blow, most in ((signal.SIGSEGV, 1), (signal.SIGKILL, None)):
    memflame = watch_memflame()
    namer = None
    for namer in itertools.islice(namers_of(memflame), most):
        fields = status(f"/proc/{namer}")
        for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"):
            equal(f"{name} of the process that reads names", capabilities(fields, name), set())
        equal("NoNewPrivs", fields["NoNewPrivs"], "1")
        equal("Seccomp", fields["Seccomp"], "2")
        for fields in threads(memflame.process.pid):
            check(capabilities(fields, "CapEff") in (OWN & WRITING, set()), f"CapEff while names are read: {fields['CapEff']}")
        equal("CapEff of the main thread", capabilities(status(f"/proc/{memflame.process.pid}"), "CapEff"), OWN & WRITING)
        os.kill(namer, blow)
        with contextlib.suppress(ProcessLookupError):  # SIGKILL needs no process that goes on
            os.kill(namer, signal.SIGCONT)
    check(namer, "there is a process that reads names")
    memflame.wait()
    said = memflame.stderr()
    check(f"the process that reads names ended by {blow.name}" in said, f"it says why: {said}")
    unknown = losses(memflame.summary(), "news")["unknown_symbol"]["events"]
    missing = sum(int(line.split("names of ")[1].split()[0]) for line in said.splitlines()
                  if "names of " in line)
    if most == 1:
        check("names are without inlined functions" in said, f"it says what is missing: {said}")
        equal("missing names", missing, 0)
    else:
        check(0 < missing <= unknown, f"{missing} missing names are among {unknown} unknown ones: {said}")
    check(memflame.profile().stacks, "there is a picture")

# When memflame is killed, the other process goes with it.
memflame = watch_memflame()
namer = next(namers_of(memflame))
memflame.process.kill()
memflame.process.wait()
wait_until(lambda: not os.path.exists(f"/proc/{namer}") or status(f"/proc/{namer}")["State"][0] in "ZX",
           "the end of the process that reads names")
