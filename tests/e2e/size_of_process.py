# SPDX-License-Identifier: BSD-2-Clause
"""brk and mmap at once, two memflames on one process: outstanding bytes add up to the change of VmSize."""
from lib import Memflame, Target, equal, lossless
from proc import status_bytes

for program, arguments in (("alloc_truth", []), ("many_stacks", ["20000"])):
    target = Target(program, *arguments)
    before = status_bytes(target.pid, "VmSize")
    probes = [Memflame(probe, "-p", target.pid, *options) for probe, *options in
              (("brk", "--value", "outstanding"), ("mmap", "--kind", "all"))]
    target.work()
    after = status_bytes(target.pid, "VmSize")
    total = 0
    for probe in probes:
        probe.stop()
        lossless(probe.profile(), probe.summary())
        total += probe.profile().sum("outstanding")
    target.end()
    equal(f"VmSize of {program}", total, after - before)
