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
