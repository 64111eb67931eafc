# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside -p with several processes: each is counted to the byte, and all or none of them are watched."""
import json
import pwd
import shutil
import subprocess

from attached import Waiting, attach, attach_all, maps
from lib import MEMFLAME, PATIENCE, Target, check, equal, example, losses, path, run

# Two at once, of two users, which do the same: each figure is there twice.
nobody = pwd.getpwnam("nobody")
targets = [Target("alloc_truth", user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[]), Target("alloc_truth")]
memflame = attach_all(targets)
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
memflame = attach_all([first, second])
first.work()
first.end()
truth = second.work()
check(memflame.process.poll() is None, "memflame goes on")
second.end()
profile = memflame.wait().profile()
profile.compare({name: {key: 2 * figure for key, figure in figures.items() if key in ("total", "total_count")}
                 for name, figures in truth["functions"].items()})

# Two in a network namespace of their own, as in a container, and one outside: memflame listens in both.
if subprocess.run(["unshare", "-n", "true"], check=False, capture_output=True).returncode == 0:
    holder = Waiting("unshare", "-n", "sh", "-c", "echo ready; cat")
    targets = [Target("alloc_truth"),
               *(Target("alloc_truth", "-c", 'exec nsenter -t "$0" -n "$@"', str(holder.pid), example("alloc_truth"),
                        executable=shutil.which("sh")) for _ in range(2))]
    memflame = attach_all(targets)
    truths = [target.work() for target in targets]
    memflame.stop()
    for target in targets:
        target.end()
    memflame.profile().compare({name: {key: 3 * figure for key, figure in figures.items()}
                                for name, figures in truths[0]["functions"].items()})
    holder.end()

# All or none. What can be told by looking is, before the first one is touched.
target = Target("alloc_truth")
words = run("alloc", "--inside", "-p", f"{target.pid},2", "-o", path("x.json"), status=1).stderr
check("process 2 " in words and "memflame-agent" not in maps(target.pid), words)
# Another memflame is found only inside. It is not disturbed, and the first process has no hooks when this one has
# given up.
watched = Target("alloc_truth")
memflame = attach(watched)
words = run("alloc", "--inside", "-p", f"{target.pid},{watched.pid}", "-o", path("x.json"), status=1).stderr
check(str(watched.pid) in words and "another memflame" in words, words)
check("memflame-agent" in maps(target.pid) and "memflame-exchange" not in maps(target.pid), "its hooks are out")
target.work()
target.end()
truth = watched.work()
memflame.stop()
memflame.profile().compare(truth["functions"])
watched.end()

# A process takes a descriptor: memflame may have as many as the kernel lets it, and its command what it had.
many = path("many.json")
script = 'ulimit -Sn; for i in $(seq 100); do sleep 5 & done; wait'
done = subprocess.run(["bash", "-c", 'ulimit -Sn 64; exec "$0" "$@"', MEMFLAME, "alloc", "--inside", "--summary",
                       f"{many}.summary", "-o", many, "--", "sh", "-c", script], capture_output=True, text=True,
                      timeout=PATIENCE, check=False)
equal(f"exit status, and what it said:\n{done.stderr}\n", done.returncode, 0)
equal("the command's own limit", done.stdout, "64\n")
with open(f"{many}.summary", encoding="utf-8") as stream:
    summary = json.load(stream)
check(not losses(summary), f"something was lost: {losses(summary)}")
