# SPDX-License-Identifier: BSD-2-Clause
"""kill -9 of memflame: the target runs on, and no probe is left."""
import signal
import time

from lib import Memflame, Target, check, equal, own_libraries, path, wait_until
from proc import changed_code, orphaned_programs, programs


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
        return int(stream.read().rsplit(")", 1)[1].split()[11])


storm = Target("alloc_storm", "--forever", env=own_libraries("alloc_storm"))
storm.begin()
for probe in ("alloc", "fault", "mmap", "brk"):
    memflame = Memflame(probe, "-p", storm.pid)
    time.sleep(0.3)
    check(probe != "alloc" or changed_code(storm.pid, path("own")), "probes are in the code while it runs")
    memflame.process.kill()
    equal("how memflame ended", memflame.process.wait(60), -signal.SIGKILL)
    wait_until(lambda: not changed_code(storm.pid, path("own")), f"the code is as it was, after {probe}", 20)
    wait_until(lambda: not orphaned_programs(), f"programs are gone ({programs()})", 20)
    before = cpu_ticks(storm.pid)
    wait_until(lambda: cpu_ticks(storm.pid) > before + 5, "the target goes on", 20)
storm.process.send_signal(signal.SIGTERM)
truth = storm.truth()
storm.end()
equal("frees of the storm", truth["counters"]["free"]["events"],
      truth["functions"]["storm_allocate"]["total_count"])

# A command that memflame started runs on, too.
memflame = Memflame("alloc", "--", "sh", "-c", f"sleep 2; echo done > {path('orphan')}")
time.sleep(0.5)  # it is let go a moment after memflame is ready
memflame.process.kill()
memflame.process.wait(60)


def orphan_is_done():
    try:
        with open(path("orphan"), encoding="utf-8") as stream:
            return stream.read() == "done\n"
    except FileNotFoundError:
        return False


wait_until(orphan_is_done, "the command ends as it would have", 20)
