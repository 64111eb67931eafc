# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside --python-heap: the blocks of Python's own allocator, against its own count of them
(sys.getallocatedblocks()), in each Python that is here; while the agent comes and goes, with forks and threads, below
and above other layers of the allocator, and when memflame is killed."""
import os
import re
import subprocess
import sys
import time

from attached import Waiting, attach, cycle
from lib import LONG, MEMFLAME, Memflame, Target, check, equal, losses, path, run, spawn
from python_lib import pythons

KEEP = r'''
import os, sys
class Point:
    __slots__ = ("x", "y")
def points(n):
    kept = []
    for i in range(n):
        point = Point()
        point.x, point.y = float(i), str(i)
        kept.append(point)
    return kept
def pairs(n): return [{"a": i, "b": [i]} for i in range(n)]
def blobs(n): return [bytes(600) for _ in range(n)]
def moved(n):
    kept = bytearray()
    for _ in range(n):
        kept += b"0123456789"
    return kept
def keep(n): return points(n), pairs(n), blobs(n // 10), moved(n)
def wait(word):
    os.write(1, word)
    os.read(0, 1)
kept = keep(100)  # what is made once
wait(b"ready\n")
before = sys.getallocatedblocks()
kept = kept, keep(int(sys.argv[1])) if sys.argv[1] != "0" else None
after = sys.getallocatedblocks()
wait(b"%d\n" % (after - before))
'''
with open(path("keep.py"), "w", encoding="utf-8") as file:
    file.write(KEEP)


def by_python(profile, column, function=""):
    """Of blocks of Python's own allocator, allocated in calls of a function."""
    at = profile.columns.index(column)
    return sum(values[at] for frames, values in profile.stacks
               if frames[-1].startswith(("PyObject_", "PyMem_")) and
               (not function or any(frame.startswith(f"{function} (keep.py:") for frame in frames)))


def kept_by(program, count, *options, **more):
    """What Python says, and memflame."""
    target = Waiting(program, path("keep.py"), count, **more)
    memflame = attach(target, "--python-heap", *options)
    target.process.stdin.write("x")
    target.process.stdin.flush()
    truth = int(target.process.stdout.readline())
    memflame.stop()
    target.end()
    return truth, memflame.profile(), memflame.summary()


# To the block, and to the byte where the size of an object is known. What the program needs to wait and to count is the
# same, however much it keeps: a few blocks, some of them from before.
versions = pythons()
if not versions:
    print("SKIPPED: no Python 3.11, 3.12 or 3.13")
    sys.exit(77)
for minor, program in versions.items():
    def beside(count, *options, **more):
        truth, profile, summary = kept_by(program, count, *options, **more)
        equal("lost", losses(summary), {})
        equal("stacks that end early", profile.marked("total-count", "[truncated: "), 0)
        seen = by_python(profile, "live-count")
        return truth, seen, profile, seen - summary["losses"]["free_miss"]["events"] - truth
    nothing = beside("0")
    truth, seen, profile, apart = beside("10000")
    print(f"3.{minor}: {seen:,} blocks seen, {truth:,} by Python's own count; {apart} apart, {nothing[3]} when it keeps nothing")
    check(truth > 50000 and abs(apart) < 20, f"blocks: {truth}, {seen}")
    equal(f"3.{minor}: blocks, but for those of waiting", apart, nothing[3])
    at = [profile.columns.index(column) for column in ("live-count", "live")]
    blobs = [[values[i] for i in at] for frames, values in profile.stacks
             if any(frame.startswith("blobs (") for frame in frames) and values[at[0]] == 1000]
    equal("blobs, of 600 bytes and 33 of the object, and their bytes", blobs, [[1000, 633000]])
    # Each layer below the hooks has the same blocks.
    for layer in ("PYTHONMALLOC=malloc", "PYTHONMALLOC=debug", "PYTHONTRACEMALLOC=3"):
        name, value = layer.split("=")
        _, below, other, _ = beside("10000", env={**os.environ, name: value})
        equal(f"3.{minor}, {layer}: blocks", by_python(other, "live-count", "keep"), by_python(profile, "live-count", "keep"))
        print(f"3.{minor}, {layer}: {below:,} blocks seen")

WORK = r'''
import gc, hashlib, json, os, sys, threading
from select import select
try:
    import greenlet
except ImportError:
    greenlet = None
rows = [{"number": i, "text": str(i) * 3, "deep": [[i], {"x": i}]} for i in range(100)]
seen, rounds, errors = set(), 0, []
def once():
    text = json.dumps(json.loads(json.dumps(rows)))
    exec(compile("def made(): return [str(i) for i in range(50)]\nmade()", "made.py", "exec"), {})
    return hashlib.sha1(text.encode()).hexdigest()
def switched():
    if not greenlet:
        return once()
    other = greenlet.greenlet(lambda: greenlet.getcurrent().parent.switch(once()))
    return other.switch()
def work(stop):
    while not stop.is_set():
        seen.add(once())
        seen.add(switched())
        short = threading.Thread(target=lambda: seen.add(once()))
        short.start()
        short.join()
def fork():
    child = os.fork()
    if child == 0:
        os._exit(0 if once() in seen else 1)
    if os.waitpid(child, 0)[1] != 0:
        errors.append("child")
stop = threading.Event()
seen.add(once())
threads = [threading.Thread(target=work, args=(stop,)) for _ in range(3)]
for thread in threads:
    thread.start()
print("ready", flush=True)
while not select([sys.stdin], [], [], 0)[0]:
    seen.add(once())
    fork()
    gc.collect()
    rounds += 1
stop.set()
for thread in threads:
    thread.join()
print(rounds > 0, len(seen), errors)
'''
TIMES = int(os.environ.get('MEMFLAME_TIMES', 500 if LONG else 50))


def tables_are_as_before(target):
    """Whether the agent's hooks have left Python's tables: what is written by each process that works with them."""
    summary = attach(target, "--python-heap", "-d", "0.05").wait().summary()
    notes = " ".join(summary["notes"])
    check("changed Python's allocator" not in notes, notes)
    return summary


# The agent comes and goes while threads, greenlets and forks work; what they compute is as before. Then memflame is
# killed at any moment, and the next one finds its way.
with open(path("work.py"), "w", encoding="utf-8") as file:
    file.write(WORK)
for minor, program in versions.items():
    target = Waiting(program, path("work.py"))
    cycle(target, TIMES, "--python-heap")
    for moment in range(12):
        memflame = spawn([MEMFLAME, "alloc", "--inside", "--python-heap", "-p", str(target.pid), "-o", path("killed.json")],
                         stderr=subprocess.DEVNULL)
        time.sleep(0.02 + moment * 0.02)
        memflame.kill()
        memflame.wait()
    time.sleep(2.5)
    summary = tables_are_as_before(target)
    check(summary["totals"]["total-count"] > 0, "the next one counts")
    cycle(target, 2, "--python-heap")
    equal(f"3.{minor}: output of the program", target.end(), "True 1 []\n")

# Another layer comes above the hooks and goes: they stay below it, are not put in twice, and count on.
LAYERS = r'''
import sys, tracemalloc
print("ready", flush=True)
for line in sys.stdin:
    if line.startswith("start"): tracemalloc.start()
    if line.startswith("stop"): tracemalloc.stop()
    if line.startswith("end"): break
    kept = [str(i) * 2 for i in range(1000, 3000)]
    print("done", flush=True)
'''


def tell(target, word):
    target.process.stdin.write(word + "\n")
    target.process.stdin.flush()
    equal(word, target.process.stdout.readline(), "done\n")


for minor, program in versions.items():
    target = Waiting(program, "-c", LAYERS)
    for words, changed in ((("start", "work"), True), (("work",), True), (("stop", "work"), False), (("work",), False)):
        memflame = attach(target, "--python-heap", "--value", "total-count")
        for word in words:
            tell(target, word)
        memflame.stop()
        seen = by_python(memflame.profile(), "total-count")
        check(seen >= 2 * 2000, f"3.{minor}, {words}: {seen} blocks")
        notes = " ".join(memflame.summary()["notes"])
        equal(f"3.{minor}, {words}: it is told that the allocator was changed", "changed Python's allocator" in notes, changed)
    target.process.stdin.write("end\n")
    target.end()
    # What was there goes while the hooks are above it, which takes these out.
    target = Waiting(program, "-c", LAYERS)
    tell(target, "start")
    memflame = attach(target, "--python-heap")
    tell(target, "stop")
    memflame.stop()
    check("changed Python's allocator" in " ".join(memflame.summary()["notes"]), "it is told")
    memflame = attach(target, "--python-heap", "--value", "total-count")
    tell(target, "work")
    memflame.stop()
    target.process.stdin.write("end\n")
    target.end()

# A program from its start on: what it begins with, and children.
START = r'''
import os, sys
kept = [str(i) * 2 for i in range(1000, 11000)]
child = os.fork()
if child == 0:
    more = [str(i) * 3 for i in range(1000, 6000)]
    os._exit(0)
os.waitpid(child, 0)
os.write(1, b"%d\n" % sys.getallocatedblocks())
os._exit(0)
'''
for minor, program in versions.items():
    for setting in ("", "PYTHONMALLOC=debug", "PYTHONMALLOC=malloc"):
        environment = {**os.environ, **dict([setting.split("=")] if setting else [])}
        memflame = Memflame("alloc", "--inside", "--python-heap", "--per-pid", "--", program, "-c", START, env=environment,
                            stdout=subprocess.PIPE, text=True)
        truth = int(memflame.process.stdout.read())
        memflame.wait()
        profile = memflame.profile()
        at = profile.columns.index("live-count")
        by_pid = {}
        for frames, values in profile.stacks:
            if frames[-1].startswith(("PyObject_", "PyMem_")):
                by_pid[frames[0]] = by_pid.get(frames[0], 0) + values[at]
        print(f"3.{minor} {setting}: {truth:,} blocks by its own count, seen {sorted(by_pid.values())}")
        equal("processes", len(by_pid), 2)
        if not setting:
            equal("blocks of a program from its start on", max(by_pid.values()), truth)
        check(5000 <= min(by_pid.values()) < 5100 or setting, f"blocks of the child: {by_pid}")

# Sampled, the figures are estimates of the same.
minor, program = next(iter(versions.items()))
_, profile, summary = kept_by(program, "100000", "--sample", "16K")
estimate = by_python(profile, "live-count", "points")
check(abs(estimate - 3e5) < 3e4, f"estimate of 300,000 blocks: {estimate}")

# What cannot be done is refused before anything is written.
def refused(words, *arguments, status=1):
    said = run("alloc", *arguments, "-o", path("refused.json"), status=status).stderr
    check(words in said, f"{arguments}: {said}")
    check(said.count("\n") == 1 and said.startswith("memflame: error: "), said)


target = Target("alloc_storm", "--threads", "1", "--operations", "1000")
refused("add --inside", "--python-heap", "-p", target.pid, status=2)
refused("add --inside", "--python-heap", "--collect", "kernel", "-p", target.pid, status=2)
refused("no Python is in it", "--inside", "--python-heap", "-p", target.pid)
with open(f"/proc/{target.pid}/maps", encoding="utf-8") as stream:
    check("memflame" not in stream.read(), "nothing came into it")
target.work()
target.end()
refused("no process that was watched had Python", "--inside", "--python-heap", "--", "/bin/true", status=125)
