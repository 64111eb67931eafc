# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside -p: the agent comes into a running process, counts there to the byte, and leaves it as it was."""
import fcntl
import json
import os
import pwd
import signal
import subprocess
import sys
import time

from attached import CYCLES, Waiting, attach, cycle, figures, maps
from lib import (LONG, MEMFLAME, PATIENCE, Target, check, equal, example, losses, path, run, spawn,
                 wait_until)

JSON = """
import hashlib, json, sys
rows = [{"number": i, "text": str(i) * 3} for i in range(200)]
print("ready", flush=True)
seen, rounds = set(), 0
while not select([sys.stdin], [], [], 0)[0]:
    seen.add(hashlib.sha1(json.dumps(json.loads(json.dumps(rows))).encode()).hexdigest())
    rounds += 1
print(rounds > 0, len(seen), seen.pop())
"""


# Every function of the ground truth, with a forked child and threads. Blocks from before are not damage.
target = Target("alloc_truth")
memflame = attach(target)
truth = target.work()
memflame.stop()
profile, summary = memflame.profile(), memflame.summary()
target.end()
for section in ("functions", "frameless", "child"):
    profile.compare(truth[section])
check(not losses(summary), f"something was lost: {losses(summary)}")
equal("frees of blocks from before", summary["losses"]["free_miss"]["events"], truth["counters"]["free_miss"]["events"])
equal("stacks that end early", profile.marked("total-count", "[truncated: "), 0)
print("first time: in {}, stop {}, out {}, stop {} ms".format(*figures(summary)))

# The storm: whatever is changed, interrupted or too early is an error of the program's.
target = Waiting(example("attach_storm"), "3")
cycle(target, CYCLES)
mapped = maps(target.pid)
equal("agents in the program", mapped.count("memflame-agent") > 0 and mapped.count("memflame-exchange"), 0)
did = json.loads(target.end())
check(all(did.values()), f"the storm works: {did}")

# A program that waits in read() only; and python, which allocates all the time.
target = Waiting(sys.executable, "-c", "import sys; print('ready', flush=True); sys.stdin.read()")
cycle(target, 5, least=0)
target.end()
target = Waiting(sys.executable, "-c", "from select import select\n" + JSON, env={**os.environ, "PYTHONMALLOC": "malloc"})
cycle(target, CYCLES)
output = target.end()
check(output.startswith("True 1 "), f"what json has made of the same rows: {output}")

# memflame is killed: at any moment while it comes in, and while it counts. The program works on, and the next one
# finds its way; so does one that comes while another counts, but not in.
target = Waiting(example("attach_storm"), "2")
for moment in range(60 if LONG else 6):
    memflame = spawn([MEMFLAME, "alloc", "--inside", "-p", str(target.pid), "-o", path("killed.json")],
                     stderr=subprocess.DEVNULL)
    time.sleep(0.01 + moment % 12 * 0.006)
    memflame.kill()
    memflame.wait()
memflame = attach(target)
words = run("alloc", "--inside", "-p", target.pid, "-d", "1", "-o", path("x.json"), status=1).stderr
check("another memflame" in words, words)
memflame.process.kill()
memflame.process.wait()
time.sleep(0.3)
cycle(target, 2)
# One at a time comes in. What was killed meanwhile leaves a process that finishes its work.
folder = os.open(f"/proc/{target.pid}", os.O_RDONLY)
fcntl.flock(folder, fcntl.LOCK_EX)
memflame = spawn([MEMFLAME, "alloc", "--inside", "-p", str(target.pid), "-d", "0.1", "-o", path("later.json")],
                 stderr=subprocess.DEVNULL)
time.sleep(1)
check(memflame.poll() is None and "memflame-exchange" not in maps(target.pid), "it waits until the other one is out")
os.close(folder)
equal("exit status of the one that waited", memflame.wait(PATIENCE), 0)
check(all(json.loads(target.end()).values()), "the storm works on")

# What the process has of it when memflame is gone: an agent that is silent.
target = Target("alloc_storm", "--threads", "2", "--operations", "100000")
attach(target).stop()
mapped = maps(target.pid)
check("memflame-agent" in mapped and "memflame-exchange" not in mapped, "the agent stays, its memory does not")
target.work()
target.end()

# Children are followed, as long as they do not execute another program.
FORKS = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
child = os.fork()
if child == 0:
    kept = ["x" * 5000 for _ in range(1000)]
    os.execv("/bin/sleep", ["sleep", "1.5"]) if len(sys.argv) > 1 else os._exit(0)
os.waitpid(child, 0)
print("done", flush=True)
sys.stdin.read()
"""
for more in ((), ("exec",)):
    target = Waiting(sys.executable, "-c", FORKS, *more, env={**os.environ, "PYTHONMALLOC": "malloc"})
    memflame = attach(target, "--per-pid")
    target.process.stdin.write("\n")
    target.process.stdin.flush()
    equal("the program's word", target.process.stdout.readline(), "done\n")
    memflame.stop()
    summary, profile = memflame.summary(), memflame.profile()
    equal("processes", len(summary["pids"]) if "pids" in summary else len(profile.roots), 2)
    uncovered = losses(summary)
    equal("processes that are not seen", uncovered.get("process_uncovered", {}).get("events", 0), len(more))
    target.end()

# Without any right but that to trace one's own processes.
nobody = pwd.getpwnam("nobody")
folder = path("nobody")
os.makedirs(folder)
os.chown(folder, nobody.pw_uid, nobody.pw_gid)
plain = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [],
         "env": {**os.environ, "HOME": folder, "XDG_CACHE_HOME": folder}}
target = Target("alloc_truth", **plain)
memflame = attach(target, folder=folder, **plain)
truth = target.work()
memflame.stop()
target.end()
for section in ("functions", "frameless", "child"):
    memflame.profile().compare(truth[section])
check(not losses(memflame.summary()), f"lost: {losses(memflame.summary())}")
equal("cut stacks", losses(memflame.summary(), "cut"), {})
# Without --inside too, as memflame has no rights for the kernel's collector.
target = Waiting("sh", "-c", "echo ready; cat", **plain)
done = subprocess.run([MEMFLAME, "alloc", "-p", str(target.pid), "-d", "0.2", "-o", f"{folder}/x.json"],
                      capture_output=True, text=True, check=False, timeout=PATIENCE, **plain)
check(done.returncode == 0 and "recording from inside" in done.stderr, done)
target.end()
target = Target("alloc_truth")
words = subprocess.run([MEMFLAME, "alloc", "--inside", "-p", str(target.pid), "-o", f"{folder}/x.json"],
                       capture_output=True, text=True, check=False, timeout=PATIENCE, **plain)
check(words.returncode == 3 and "permission" in words.stderr, words)
target.work()
target.end()

# A process in namespaces of its own, as in a container.
spaces = ("unshare", "-n", "-p", "-m", "--fork", "--mount-proc")
if subprocess.run([*spaces, "true"], check=False, capture_output=True).returncode == 0:
    apart = Waiting(*spaces, example("attach_storm"), "1")
    with open(f"/proc/{apart.pid}/task/{apart.pid}/children", encoding="ascii") as stream:
        apart.pid = int(stream.read().split()[0])
    cycle(apart, 3)
    check(all(json.loads(apart.end()).values()), "the storm apart works on")

# What cannot be done is said by name.
def refused(pid, *words, status=1):
    said = run("alloc", "--inside", "-p", pid, "-o", path("x.json"), status=status).stderr
    check(all(word in said for word in words), said)


if os.path.exists(example("alloc_truth_static")):
    target = Target("alloc_truth_static")
    refused(target.pid, "linked statically", "--collect kernel")
    target.work()
    target.end()
refused(2, "kernel")
refused(2 ** 22 - 1, "no process")
target = Waiting(sys.executable, "-c", "print('ready', flush=True); input()")
target.process.send_signal(signal.SIGSTOP)
wait_until(lambda: open(f"/proc/{target.pid}/stat", encoding="ascii").read().split()[2] == "T", "it stops")
refused(target.pid, "stopped")
target.process.send_signal(signal.SIGCONT)
with subprocess.Popen([sys.executable, "-c", f"""
import ctypes, time
ctypes.CDLL(None).ptrace(0x4206, {target.pid}, 0, 0)
print("traced", flush=True)
time.sleep(60)
"""], stdout=subprocess.PIPE) as tracer:
    tracer.stdout.readline()
    refused(target.pid, "traced", status=3)
    tracer.kill()
target.process.stdin.write("\n")
target.end()
