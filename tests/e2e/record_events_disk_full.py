# SPDX-License-Identifier: BSD-2-Clause
"""record --detail events on a disk that is full for a while: it says so, the target runs on untouched, what waits too
long becomes a gap that is counted, and then blocks and sums agree again. A file of which no more could be written is
read until there."""
import os
import re
import subprocess

from full_disk_lib import DISK, leave, make_room
from lib import Memflame, check, equal, example, run, spawn, wait_until
from recording_lib import drawn

EVERY_BLOCK = ("--where", "size >= 0")


def storm():
    return spawn([example("alloc_storm"), "--threads", "2", "--forever"], stdout=subprocess.PIPE, text=True)


def until_said(memflame, words):
    wait_until(lambda: words in memflame.stderr(), f"memflame says {words!r}")


for collector in (("--collect", "kernel"), ("--inside",)):
    # Full for a while.
    leave(40)
    target = storm()
    memflame = Memflame("record", "--detail", "events", *collector, "-p", target.pid, output="mfr", folder=DISK)
    until_said(memflame, "memflame goes on and tries again")
    make_room()
    until_said(memflame, "can be written again")
    target.terminate()
    target.communicate(timeout=60)
    equal("exit status of the target", target.returncode, 0)
    memflame.wait()
    blocks, sums = drawn(memflame.output, *EVERY_BLOCK), drawn(memflame.output)
    for column in ("live", "live-count"):
        equal(f"{collector}: {column} by blocks and by sums", blocks.sum(column), sums.sum(column))
    equal(f"{collector}: nothing of the storm lives", blocks.sum("live-count", "storm_allocate"), 0)
    missing = sums.sum("total-count") - blocks.sum("total-count")
    said = run("render", memflame.output, *EVERY_BLOCK, "--format", "json").stdout
    equal(f"{collector}: a gap is said if blocks are missing ({missing})", missing > 0, "events were lost" in said)

    # It gets full after a while, and memflame ends then.
    target = storm()
    memflame = Memflame("record", "--detail", "events", *collector, "-p", target.pid, output="mfr", folder=DISK)
    wait_until(lambda: os.path.exists(memflame.output) and os.path.getsize(memflame.output) > 100_000,
               "the first events are in the file")
    leave(1)
    until_said(memflame, "memflame goes on and tries again")
    memflame.stop(status=1)
    check(re.search("what was recorded until", memflame.stderr()), memflame.stderr())
    target.terminate()
    target.communicate(timeout=60)
    equal("exit status of the target", target.returncode, 0)
    make_room()
    said = run("render", memflame.output, *EVERY_BLOCK, "--format", "json").stdout
    check("it was not finished" in said, said[:2000])
