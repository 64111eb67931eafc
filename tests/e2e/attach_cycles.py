# SPDX-License-Identifier: BSD-2-Clause
"""Attaches to a busy program and detaches ten times (in long tests fifty): no impossible figure, nothing left in the target
or the kernel."""
import signal

from lib import LONG, SLOW, Memflame, Target, check, equal, own_libraries, path, wait_until
from proc import changed_code, orphaned_programs, programs

MOST, LEAST, MAILBOXES, THREADS = 527, 16, 4096, 8  # of alloc_storm

with open("/proc/mounts", encoding="utf-8") as stream:
    mounts = stream.read()
storm = Target("alloc_storm", "--forever", env=own_libraries("alloc_storm"))
storm.begin()
seen = 0
for cycle in range(50 if LONG else 5 if SLOW else 10):
    memflame = Memflame("alloc", "-p", storm.pid, "-d", "0.05").wait()
    profile = memflame.profile()
    total, count = profile.sum("total"), profile.sum("total-count")
    live, live_count = profile.sum("live"), profile.sum("live-count")
    what = f"cycle {cycle}: live {live} in {live_count}, total {total} in {count}"
    check(LEAST * count <= total <= MOST * count, what)
    check(LEAST * live_count <= live <= MOST * live_count, what)
    check(0 <= live_count <= min(count, MAILBOXES + THREADS), what)
    for frames, values in profile.stacks:
        check(all(value >= 0 for value in values), f"{frames}: {values}")
    seen += count
check(seen > 0, "nothing was seen in any cycle")

equal("code that differs from the file", changed_code(storm.pid, path("own")), [])
wait_until(lambda: not orphaned_programs(), f"programs are gone ({programs()})", 20)
with open("/proc/mounts", encoding="utf-8") as stream:
    equal("mounts", stream.read(), mounts)
storm.process.send_signal(signal.SIGTERM)
truth = storm.truth()
storm.end()
equal("frees of the storm", truth["counters"]["free"]["events"],
      truth["functions"]["storm_allocate"]["total_count"])
