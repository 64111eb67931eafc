# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside -p with several processes: each is counted to the byte, and all or none of them are watched."""
from lib import Memflame, Target, check, equal, losses, path, run


def maps(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as stream:
        return stream.read()


def attach(*pids):
    return Memflame("alloc", "--inside", "--children", "follow", "-p", ",".join(map(str, pids)))


# Two at once, which do the same: each figure is there twice.
targets = [Target("alloc_truth") for _ in range(2)]
memflame = attach(*(target.pid for target in targets))
truths = [target.work() for target in targets]
memflame.stop()
profile, summary = memflame.profile(), memflame.summary()
for target in targets:
    check("memflame-exchange" not in maps(target.pid), "its hooks are out")
    target.end()
check(not losses(summary), f"something was lost: {losses(summary)}")
for section in ("functions", "frameless", "child"):
    equal("what both do", truths[0][section], truths[1][section])
    profile.compare({name: {key: 2 * figure for key, figure in figures.items()}
                     for name, figures in truths[0][section].items()})
notes = " ".join(summary["notes"])
check("came into 2 processes, into each within" in notes and "taken out of 2 processes, of each within" in notes, notes)

# One ends first: the other one is counted on, and the run ends with the last.
first, second = Target("alloc_truth"), Target("alloc_truth")
memflame = attach(first.pid, second.pid)
first.work()
first.end()
truth = second.work()
check(memflame.process.poll() is None, "memflame goes on")
second.end()
profile = memflame.wait().profile()
profile.compare({name: {key: 2 * figure for key, figure in figures.items() if key in ("total", "total_count")}
                 for name, figures in truth["functions"].items()})

# All or none. What can be told by looking is, before the first one is touched.
target = Target("alloc_truth")
words = run("alloc", "--inside", "-p", f"{target.pid},2", "-o", path("x.json"), status=1).stderr
check("process 2 " in words and "memflame-agent" not in maps(target.pid), words)
# Another memflame is found only inside. It is not disturbed, and the first process has no hooks when this one has
# given up.
watched = Target("alloc_truth")
memflame = attach(watched.pid)
words = run("alloc", "--inside", "-p", f"{target.pid},{watched.pid}", "-o", path("x.json"), status=1).stderr
check(str(watched.pid) in words and "another memflame" in words, words)
check("memflame-agent" in maps(target.pid) and "memflame-exchange" not in maps(target.pid), "its hooks are out")
target.work()
target.end()
truth = watched.work()
memflame.stop()
memflame.profile().compare(truth["functions"])
watched.end()
