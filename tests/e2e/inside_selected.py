# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside with --comm and --cgroup: the agent comes into the processes that run when counting begins, and into those
that begin later. Those that refuse it, or begin too late, are counted and named; only if it can come into none, that is an
error."""
import os
import subprocess
import time

from attached import Waiting, maps
from lib import Memflame, Target, check, equal, example, losses, path, run, wait_until

NAME = f"sel{os.getpid()}"
os.symlink(example("alloc_truth"), path(NAME))


def named(**options):
    """A process of that name."""
    return Target("alloc_truth", executable=path(NAME), **options)


def uncovered(summary):
    return losses(summary).get("process_uncovered", {"events": 0})["events"]


def is_in(target):
    return "memflame-exchange" in maps(target.pid)


# Two of this name, and one of another; one comes later, one too late, and one fills its name, but is static.
with open(path("static.c"), "w", encoding="utf-8") as stream:
    stream.write("#include <stdio.h>\nint main() { puts(\"ready\"); fflush(stdout); while (getchar() >= 0) {} }\n")
os.makedirs(path("bin"))
subprocess.run(["gcc", "-static", "-o", path("bin/" + NAME), path("static.c")], check=True)
targets = [named(), named()]
other, fixed = Target("alloc_truth"), Waiting(path("bin/" + NAME))
memflame = Memflame("alloc", "--inside", "--children", "follow", "--comm", NAME)
later = named()
truths = [target.work() for target in targets]
wait_until(lambda: is_in(later), "the agent in a process that began later")
later.work()
late = named()
late.work()
memflame.stop()
for target in (*targets, later, late, other):
    check(not is_in(target), "its hooks are out")
check("memflame-agent" not in maps(other.pid), "the one of another name was left alone")
profile, summary = memflame.profile(), memflame.summary()
for section in ("functions", "frameless", "child"):
    profile.compare({name: {key: 3 * figure for key, figure in figures.items()}
                     for name, figures in truths[0][section].items()})
notes = " ".join(summary["notes"])
equal(f"processes that were not watched: {notes}", uncovered(summary), 2)
check("came into 3 processes" in notes, notes)
check(f"1 process of those that were asked for could not be watched process {fixed.pid} cannot be" in notes, notes)
check(f"1 process that began later was watched only from some seconds after the start on ({NAME} {later.pid})" in notes, notes)
check(f"1 process that began later was not watched ({NAME} {late.pid})" in notes, notes)
equal("processes that had begun before", losses(summary)["agent_late"]["events"], 1)
check(later.pid in summary["pids"] and late.pid not in summary["pids"] and fixed.pid not in summary["pids"],
      summary["pids"])

# If the agent comes into none, that is an error which says why; so it is if there is no such process.
for target in (*targets, later, late):
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
third = named()
wait_until(lambda: is_in(third), "the agent in the third")
second.end()
third.work()
check(memflame.process.poll() is None, "memflame goes on with the third")
third.end()
memflame.wait()

# A program that executes itself anew loses the agent, and gets it again.
with open(path("anew.c"), "w", encoding="utf-8") as stream:
    stream.write("""#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void* kept;
__attribute__((noinline)) void keep(void) { kept = malloc(1000); }
int main(int argc, char** argv) {
  puts("ready");
  fflush(stdout);
  for (int c = getchar(); c >= 0; c = getchar()) {
    if (c == 'k') keep();
    if (c == 'x') execv(argv[0], argv);
    if (c != '\\n') { puts("done"); fflush(stdout); }
  }
}
""")
anew = f"anew{os.getpid()}"
subprocess.run(["gcc", "-g", "-o", path("bin/" + anew), path("anew.c")], check=True)
program = Waiting(path("bin/" + anew))
memflame = Memflame("alloc", "--inside", "--comm", anew)
program.process.stdin.write("x\n")
program.process.stdin.flush()
wait_until(lambda: not is_in(program), "another program")
wait_until(lambda: is_in(program), "the agent again")
program.process.stdin.write("k\n")
program.process.stdin.flush()
equal("the program says", program.process.stdout.readline(), "ready\n")
equal("the program says", program.process.stdout.readline(), "done\n")
memflame.stop()
equal("bytes", memflame.profile().sum("live", "keep"), 1000)
equal("processes that had begun before", losses(memflame.summary())["agent_late"]["events"], 1)
program.end()

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
