# SPDX-License-Identifier: BSD-2-Clause
"""A target ends or is killed during the run: memflame stops by itself, writes what it saw, and says if
the target was killed."""
import time

from lib import Memflame, Target, check, consistent, equal

for probe in ("alloc", "fault", "mmap", "brk"):
    storm = Target("alloc_storm", "--forever")
    memflame = Memflame(probe, "-p", storm.pid)
    storm.begin()
    time.sleep(0.5)
    storm.process.kill()
    storm.process.wait()
    memflame.wait()
    profile = memflame.profile()
    said = f"process {storm.pid} (alloc_storm) was killed by signal 9 (SIGKILL)"
    check(said in memflame.summary()["notes"], f"{said}: {memflame.summary()['notes']}")
    check(f"memflame: {said}\n" in memflame.stderr(), f"{said}: {memflame.stderr()}")
    consistent(profile, memflame.summary())
    if probe == "alloc":
        check(profile.sum("total-count", "storm_allocate") > 0, "allocations before the end")
        check(profile.sum("live-count") <= 4096 + 8, "no more live than there is room for")

target = Target("alloc_truth")
memflame = Memflame("alloc", "-p", target.pid)
truth = target.work()
target.end()
memflame.wait()
memflame.profile().compare(truth["functions"])
equal("the target's pid", memflame.summary()["pids"][:1], [target.pid])
check(not any("killed" in note for note in memflame.summary()["notes"]), "nobody was killed")

# In a picture, and in a report.
for word, output in (("alloc", "svg"), ("leaks", "txt")):
    storm = Target("alloc_storm", "--forever")
    memflame = Memflame(word, "-p", storm.pid, output=output)
    storm.begin()
    time.sleep(0.5)
    storm.process.kill()
    memflame.wait()
    with open(memflame.output, encoding="utf-8") as stream:
        check("(alloc_storm) was killed by signal 9 (SIGKILL)" in stream.read(), f"{word} says so")
