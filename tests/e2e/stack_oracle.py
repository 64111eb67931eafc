# SPDX-License-Identifier: BSD-2-Clause
"""Stacks walked in the kernel equal, frame by frame, those that elfutils' libdwfl finds in copies of the
same registers and memory, also where another probe has replaced return addresses."""
import os
import re
import subprocess

from lib import MEMFLAME, PATIENCE, SLOW, Memflame, Target, check, path

# Where the build has it, or where the older kernel's guest has it.
ORACLE = os.path.join(os.path.dirname(MEMFLAME), "../tests/stack_oracle/stack_oracle")
if not os.path.exists(ORACLE):
    ORACLE = os.path.join(os.path.dirname(MEMFLAME), "stack_oracle")


def judge(what, dump, least):
    done = subprocess.run([ORACLE, dump], capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    said = f"{what}:\n{done.stdout}{done.stderr}"
    check(done.returncode == 0, f"the oracle disagrees about {said}")
    counts = {name: int(count) for count, name in re.findall(r"^ *(\d+)  (\S.*)$", done.stdout, re.M)}
    equal = sum(count for name, count in counts.items() if name.startswith("equal"))
    check(counts["stacks"] >= least, f"too few stacks were checked for {said}")
    check(equal == counts["stacks"], f"not all are equal for {said}")
    check(counts["frames compared"] >= 3 * counts["stacks"], f"hardly a frame was compared for {said}")
    print(f"{what}: {counts}")
    return counts


def observe(program, arguments, probes, least):
    """All probes at once. Stacks are checked while the program still runs; its children have ended."""
    target = Target(program, *arguments)
    watching = {}
    for probe in probes:
        dump = path(f"{program}-{probe}.dump")
        watching[probe] = dump, Memflame(probe, "-p", target.pid, "--check-stacks", dump,
                                         "--max-depth", "1023", "--no-children")
    target.work()
    for _, memflame in watching.values():
        memflame.stop()
    counts = {probe: judge(f"{program} {probe}", dump, least)
              for probe, (dump, _) in watching.items()}
    target.end()
    return counts


for kind in ("alloc", "brk", "mmap", "fault"):
    observe("no_frame_pointer", [kind, "1" if SLOW else "10"], [kind], 10)
observe("alloc_truth", [], ["alloc"], 300)
# Faults inside a probed malloc, whose return address is the kernel's trampoline.
both = observe("no_frame_pointer", ["large", "1" if SLOW else "10"], ["alloc", "mmap", "fault"], 5)
check(any("trampolines" in name for counts in both.values() for name in counts),
      f"no stack went over a return probe: {both}")
