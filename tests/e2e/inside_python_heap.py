# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside --python-heap: the blocks of Python's own allocator, against its own count of them
(sys.getallocatedblocks()), in each Python that is here, below each layer that Python has above its allocator."""
import os
import subprocess
import sys

from attached import Waiting, attach
from lib import Memflame, Target, check, equal, losses, path, run
from python_lib import NONE, by_python, pythons

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


def kept_by(program, count, *options, **more):
    """What Python says, and memflame."""
    target = Waiting(program, path("keep.py"), count, **more)
    target.at_rest()
    memflame = attach(target, "--python-heap", *options)
    target.process.stdin.write("x")
    target.process.stdin.flush()
    truth = int(target.process.stdout.readline())
    target.at_rest()
    memflame.stop()
    target.end()
    return truth, memflame.profile(), memflame.summary()


# To the block, and to the byte where the size of an object is known. What the program needs to wait and to count is the
# same, however much it keeps: a few blocks, some of them from before.
versions = pythons()
if not versions:
    print(NONE)
    sys.exit(77)
for minor, program in versions.items():
    def beside(count, *options, **more):
        truth, profile, summary = kept_by(program, count, *options, **more)
        equal("lost", losses(summary), {})
        equal("stacks that end early", profile.marked("total-count", "[truncated: "), 0)
        # What it read while it waited. On a busy machine there was one more, which is not of the Python heap's figures.
        from_before = summary["losses"]["free_miss"]["events"]
        check(from_before <= 2, f"frees of blocks from before: {from_before}")
        seen = by_python(profile, "live-count")
        return truth, seen, profile, seen - truth
    nothing = beside("0")
    truth, seen, profile, apart = beside("10000")
    print(f"3.{minor}: {seen:,} blocks seen, {truth:,} by Python's own count; {apart} apart, {nothing[3]} when it keeps nothing")
    check(truth > 50000 and abs(apart) < 20, f"blocks: {truth}, {seen}")
    equal(f"3.{minor}: blocks, except those of waiting", apart, nothing[3])
    at = [profile.columns.index(column) for column in ("live-count", "live")]
    blobs = [[values[i] for i in at] for frames, values in profile.stacks
             if any(frame.startswith("blobs (") for frame in frames) and values[at[0]] == 1000]
    equal("blobs, of 600 bytes and 33 of the object, and their bytes", blobs, [[1000, 633000]])
    # Each layer below the hooks has the same blocks.
    for layer in ("PYTHONMALLOC=malloc", "PYTHONMALLOC=debug", "PYTHONTRACEMALLOC=3"):
        name, value = layer.split("=")
        _, below, other, _ = beside("10000", env={**os.environ, name: value})
        # Since 3.14, Python has kept one of them for later if its own allocator is below.
        other, own = (by_python(each, "live-count", "keep") for each in (other, profile))
        check(abs(other - own) <= (int(minor) >= 14), f"3.{minor}, {layer}: {other} blocks, not {own}")
        print(f"3.{minor}, {layer}: {below:,} blocks seen")

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
    said = run("alloc", "-o", path("refused.json"), *arguments, status=status).stderr
    check(words in said, f"{arguments}: {said}")
    check(said.count("\n") == 1 and said.startswith("memflame: error: "), said)


target = Target("alloc_storm", "--threads", "1", "--operations", "1000")
refused("add --inside", "--python-heap", "-p", target.pid, status=2)
refused("add --inside", "--python-heap", "--collect", "kernel", "-p", target.pid, status=2)
refused("no Python is in it", "--inside", "--python-heap", "-p", target.pid)
with open(f"/proc/{target.pid}/maps", encoding="utf-8") as stream:
    check("memfd:memflame" not in stream.read(), "nothing came into it")
target.work()
target.end()
refused("no process that was watched had Python", "--inside", "--python-heap", "--", "ls", path(""), status=125)
