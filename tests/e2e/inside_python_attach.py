# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside --python-heap -p: the agent comes into Python and leaves it again and again, while it works with
threads, greenlets and forks; memflame is killed; and Python's own layers come above the hooks and go."""
import os
import subprocess
import sys
import time

from attached import Waiting, attach, cycle
from lib import LONG, MEMFLAME, check, equal, path, spawn
from python_lib import NONE, by_python, pythons

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
TIMES = 200 if LONG else 12


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
versions = pythons()
if not versions:
    print(NONE)
    sys.exit(77)
for minor, program in versions.items():
    target = Waiting(program, "-W", "ignore", path("work.py"))
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
    for words, changed in ((("start", "work"), True), (("work",), True), (("stop", "work"), True), (("work",), False)):
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
