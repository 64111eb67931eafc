# SPDX-License-Identifier: BSD-2-Clause
"""--comm NAME: every process of that name, those that run already and those that start later."""
import time

from lib import SLOW, Memflame, Target, equal

earlier = Target("many_stacks", "300")
other = Target("alloc_truth")
memflame = Memflame("alloc", "--comm", "many_stacks")
later = Target("many_stacks", "500")
time.sleep(3 if SLOW else 1)  # probes reach a new process a moment after it has started
for target in (earlier, other, later):
    target.work()
memflame.stop()
for target in (earlier, other, later):
    target.end()
profile = memflame.profile()
equal("blocks of both", profile.sum("live-count", "many_stacks", "reach_leaf"), 800)
equal("processes", profile.roots, {"many_stacks"})
equal("pids", sorted(set(memflame.summary()["pids"])), sorted([earlier.pid, later.pid]))
