# SPDX-License-Identifier: BSD-2-Clause
"""record --detail events: blocks give the figures that the sums have, from the kernel and from inside; what is lost
makes gaps, but nothing that was freed seems live."""
import json
import signal
import time

from lib import LONG, USAGE, Memflame, check, equal, example, path, run, spawn
from recording_lib import drawn

COLLECTORS = (("--collect", "kernel"), ("--inside",))
EVERY_BLOCK = ("--where", "size >= 0")


def recorded(*arguments, **options):
    """The file, and what the command and memflame said."""
    file = path("events.mfr")
    return file, run("record", "--detail", "events", "-o", file, *arguments, **options)


def truth_of(text):
    return json.loads(text[text.index("{"):text.rindex("}") + 1])


def live_of(profile, frame=None):
    return profile.sum("live", frame), profile.sum("live-count", frame)


for collector in COLLECTORS:
    # Every function of the ground truth, with a forked child and threads: by blocks, and by sums.
    file, done = recorded(*collector, "--", example("alloc_truth"))
    truth = truth_of(done.stdout)
    blocks, sums = drawn(file, *EVERY_BLOCK), drawn(file)
    for section in ("functions", "frameless", "child"):
        blocks.compare(truth[section])
        sums.compare(truth[section])
    for column in sums.columns:
        equal(f"{collector}: {column} by blocks and by sums", blocks.sum(column), sums.sum(column))
    leaked, freed = drawn(file, "--view", "leaked"), drawn(file, "--view", "freed")
    equal(f"{collector}: leaked", leaked.sum("leaked"), sums.sum("live"))
    equal(f"{collector}: leaked + freed = total", leaked.sum("leaked-count") + freed.sum("freed-count"),
          sums.sum("total-count"))
    # What is selected by two conditions that exclude each other is everything.
    small, large = (drawn(file, "--where", f"size {sign} 1K", "--view", "total") for sign in ("<", ">="))
    equal(f"{collector}: small + large", small.sum("total") + large.sum("total"), sums.sum("total"))
    # Threads free each other's blocks.
    file, done = recorded(*collector, "--", example("alloc_storm"), "--threads", "4", "--operations",
                          "500000" if LONG else "60000")
    equal(f"{collector}: live blocks of the storm", drawn(file, *EVERY_BLOCK).sum("live-count", "storm_allocate"), 0)
    check("came too fast" not in done.stderr, f"{collector}: nothing is lost: {done.stderr}")

# The recorder is stopped, and the ring is small: what was lost is said, and nothing of it is a leak.
storm = spawn([example("alloc_storm"), "--threads", "2", "--operations", str(10**9)])
recorder = Memflame("record", "--detail", "events", "--collect", "kernel", "--ring-bytes", 1 << 20, "-p", storm.pid,
                    output="mfr")
time.sleep(1)
recorder.process.send_signal(signal.SIGSTOP)
time.sleep(2)
recorder.process.send_signal(signal.SIGCONT)
time.sleep(1)
recorder.stop()
storm.kill()
file = recorder.output
check("came too fast" in recorder.stderr(), f"the run says how many events were lost: {recorder.stderr()}")
blocks, sums = drawn(file, *EVERY_BLOCK), drawn(file)
equal("live blocks by events and by sums", live_of(blocks, "storm_allocate"), live_of(sums, "storm_allocate"))
check(blocks.sum("total-count") < sums.sum("total-count"), "the totals of events lack those of the gap")
notes = run("render", file, *EVERY_BLOCK, "--format", "json").stdout
check("events were lost" in notes, f"a picture says that there are gaps: {notes}")

# What an option does not take, or does not go together.
for words, wrong in ((("--detail", "event"), "event"), (("--detail", "events", "--time", "s"), "s")):
    said = run("record", *words, "-o", path("no.mfr"), "--", "true", status=USAGE).stderr
    check(f"not '{wrong}'" in said, said)
said = run("render", path("events.mfr"), "--where", "size > 1 and leakd", status=USAGE).stderr
check(said.endswith("\n  size > 1 and leakd\n               ^\n"), f"the place of the error is shown: {said}")
said = run("record", "--detail", "events", "--probes", "brk", "-o", path("no.mfr"), "--", "true", status=USAGE).stderr
check("--probes alloc" in said, said)
said = run("record", "--no-addresses", "-o", path("no.mfr"), "--", "true", status=USAGE).stderr
check("--detail events" in said, said)
run("record", "-o", path("series.mfr"), "--", example("alloc_truth"))
said = run("render", path("series.mfr"), "--where", "leaked", status=USAGE).stderr
check("--detail events" in said, f"a series has no blocks, and it is said how to get them: {said}")
