# SPDX-License-Identifier: BSD-2-Clause
"""Two memflames on one process, of the same probe and of different ones: each is exact."""
from lib import Memflame, Target, lossless

target = Target("alloc_truth")
watchers = [Memflame(probe, "-p", target.pid) for probe in ("alloc", "fault", "alloc")]
truth = target.work()
for memflame in watchers:
    memflame.stop()
    lossless(memflame.profile(), memflame.summary())
target.end()
for memflame in (watchers[0], watchers[2]):
    memflame.profile().compare(truth["functions"])
