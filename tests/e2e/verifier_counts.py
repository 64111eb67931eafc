# SPDX-License-Identifier: BSD-2-Clause
"""The instructions that the kernel's verifier visits per program stay far from its limit.

The limit is one million (BPF_COMPLEXITY_LIMIT_INSNS); a kernel that counts more steps for the same
code must not make us fail, so half of that is ours. The table goes to standard output. Where the CPU is
emulated, only what visits most is loaded: whole stacks, and the allocator with all that it can watch.
"""

import sys

from bpf_info import programs_of
from lib import SLOW, Memflame, Target, check

MOST = 500_000

failed = []
counted = 0
print(f"{'probe':6} {'stacks':6} {'program':36} {'verified':>9} {'JIT bytes':>9}")
runs = [("alloc", "alloc_truth", "--value", "first-touch"),
        ("brk", "brk_truth"), ("mmap", "mmap_truth"), ("fault", "fault_truth")]
if not SLOW:
    runs += [("alloc", "alloc_truth"), ("alloc", "usdt_truth")]
for probe, example, *options in runs:
    for stacks in ["dwarf"] if SLOW else ["dwarf", "fp", "copy"]:
        target = Target(example)
        memflame = Memflame(probe, "-p", target.pid, "--stacks", stacks, *options)
        programs = programs_of(memflame.process.pid)
        check(len(programs) >= 3, f"{probe} has only the programs {list(programs)}")
        for name, program in programs.items():
            print(f"{probe:6} {stacks:6} {name:36} {program.verified:9} {program.jited:9}")
            check(program.verified > 0, f"{name} has no count")
            counted += 1
            if program.verified > MOST:
                failed.append(f"{probe} --stacks {stacks}: {name} has {program.verified}")
        target.work()
        memflame.stop()
        target.end()
        sys.stdout.flush()
check(not failed, f"programs over {MOST} verified instructions:\n  " + "\n  ".join(failed))
print(f"{counted} programs, none over {MOST} verified instructions")
