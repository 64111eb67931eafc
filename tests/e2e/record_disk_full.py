# SPDX-License-Identifier: BSD-2-Clause
"""record on a full disk says so, goes on, and writes what it has kept when there is room again. What the file has is
right at any moment, and the target runs on untouched."""
import json

from full_disk_lib import DISK, leave, make_room
from lib import LONG, Memflame, check, run, wait_until
from steady_lib import Counting, Steady, check_figures

def record(steady, *options):
    counting = Counting()
    memflame = Memflame("record", *options, "--interval", "0.1", "-p", steady.pid, output="mfr", folder=DISK)
    counting.ask(memflame.process.pid)
    return memflame, counting


def until_said(memflame, words):
    wait_until(lambda: words in memflame.stderr(), f"memflame says {words!r}")


narrow, runs = Steady(), []

# Killed on a full disk, with room for a few looks, one more page, and so on.
for pages in (2, 3):
    leave(pages)
    memflame, counting = record(narrow)
    until_said(memflame, "memflame goes on and tries again")
    memflame.process.kill()
    memflame.process.wait()
    counting.ends()
    make_room()
    runs.append((narrow, memflame.output, counting))

# It ends while the disk is full: it says what it could not write.
leave(3)
memflame, counting = record(narrow)
until_said(memflame, "memflame goes on and tries again")
memflame.stop(status=1)
counting.ends()
check("what was recorded until" in memflame.stderr(), memflame.stderr())
make_room()
runs.append((narrow, memflame.output, counting))

# The disk is full for a while: nothing is missing.
leave(3)
memflame, counting = record(narrow)
until_said(memflame, "memflame goes on and tries again")
make_room()
until_said(memflame, "can be written again")
memflame.stop()
counting.ends()
runs.append((narrow, memflame.output, counting))
whole = memflame

# The file has to be made smaller, and there is no room for the copy. It takes minutes to fill the least limit.
if LONG:
    wide = Steady(100)
    leave(300)
    memflame, counting = record(wide, "--max-file", "1M")
    wait_until(lambda: "cannot make" in memflame.stderr(), "memflame says that there is no room", 600)
    memflame.process.kill()
    memflame.process.wait()
    counting.ends()
    make_room()
    runs.append((wide, memflame.output, counting))

# No room at all: it ends at once, with words.
leave(0)
memflame, counting = record(narrow)
memflame.wait(1)
check("No space left on device" in memflame.stderr(), memflame.stderr())
make_room()

for steady in {narrow, *(steady for steady, _, _ in runs)}:
    steady.end()
looks = [check_figures(recording, steady, counting, None) for steady, recording, counting in runs]
print("looks:", looks)
check(min(looks) >= 1 and max(looks) > 3, f"looks: {looks}")
document = json.loads(run("timeline", whole.output, "--format", "json").stdout)
check(document["complete"] and not any("finished" in note for note in document["notes"]), document["notes"])
