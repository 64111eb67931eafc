# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside with --comm and --cgroup: the agent comes into the processes that run when counting begins. Those that
refuse it, and those that begin later, are counted and named; only if it can come into none, that is an error."""
import os
import subprocess
import time

from attached import Waiting, maps
from lib import Memflame, Target, check, equal, example, losses, path, run

NAME = f"sel{os.getpid()}"
os.symlink(example("alloc_truth"), path(NAME))


def named(**options):
    """A process of that name."""
    return Target("alloc_truth", executable=path(NAME), **options)


def uncovered(summary):
    return losses(summary).get("process_uncovered", {"events": 0})["events"]


# Two of this name, and one of another; one comes later, and one fills its name, but is static.
with open(path("static.c"), "w", encoding="utf-8") as stream:
    stream.write("#include <stdio.h>\nint main() { puts(\"ready\"); fflush(stdout); while (getchar() >= 0) {} }\n")
os.makedirs(path("bin"))
subprocess.run(["gcc", "-static", "-o", path("bin/" + NAME), path("static.c")], check=True)
targets = [named(), named()]
other, fixed = Target("alloc_truth"), Waiting(path("bin/" + NAME))
memflame = Memflame("alloc", "--inside", "--children", "follow", "--comm", NAME)
later = named()
time.sleep(0.1)
truths = [target.work() for target in targets]
later.work()
memflame.stop()
for target in (*targets, later, other):
    check("memflame-exchange" not in maps(target.pid), "its hooks are out")
check("memflame-agent" not in maps(other.pid), "the one of another name was left alone")
profile, summary = memflame.profile(), memflame.summary()
for section in ("functions", "frameless", "child"):
    profile.compare({name: {key: 2 * figure for key, figure in figures.items()}
                     for name, figures in truths[0][section].items()})
notes = " ".join(summary["notes"])
equal(f"processes that were not watched: {notes}", uncovered(summary), 2)
check("came into 2 processes" in notes, notes)
check(f"1 process of those that were asked for could not be watched process {fixed.pid} cannot be" in notes, notes)
check(f"1 process that began later was not watched ({NAME} {later.pid})" in notes, notes)
check(later.pid not in summary["pids"] and fixed.pid not in summary["pids"], summary["pids"])

# If the agent comes into none, that is an error which says why; so it is if there is no such process.
for target in (*targets, later):
    target.end()
words = run("alloc", "--inside", "--comm", NAME, "-o", path("x.json"), status=1).stderr
check(f"process {fixed.pid} cannot be watched from inside" in words, words)
fixed.end()
words = run("alloc", "--inside", "--comm", NAME, "-o", path("x.json"), status=1).stderr
check("must run when counting begins" in words, words)

# The run ends with the last of them.
first, second = named(), named()
memflame = Memflame("alloc", "--inside", "--children", "follow", "--comm", NAME)
first.work()
first.end()
second.work()
check(memflame.process.poll() is None, "memflame goes on")
second.end()
memflame.wait()

# A control group with two others in it. Frames tell them apart.
with open("/proc/self/mountinfo", encoding="utf-8") as stream:
    mounts = [line.split()[4] for line in stream if " - cgroup2 " in line]
group = f"memflame-selected-{os.getpid()}"
folders = [f"{mounts[0]}/{group}{below}" for below in ("", "/a", "/b")] if mounts else []
try:
    for folder in folders:
        os.mkdir(folder)
except OSError as error:
    print(f"no control group can be made: {error}")
    folders = []
if folders:
    targets = [Target("alloc_truth"), Target("alloc_truth")]
    for target, folder in zip(targets, folders[1:]):
        with open(f"{folder}/cgroup.procs", "w", encoding="utf-8") as stream:
            stream.write(str(target.pid))
    memflame = Memflame("alloc", "--inside", "--children", "follow", "--cgroup", group)
    truths = [target.work() for target in targets]
    memflame.stop()
    for target in targets:
        target.end()
    profile = memflame.profile()
    profile.compare({name: {key: 2 * figure for key, figure in figures.items()}
                     for name, figures in truths[0]["functions"].items()})
    equal("cgroups", profile.roots, {f"/{group}/a", f"/{group}/b"})
    for folder in reversed(folders):
        os.rmdir(folder)
