# SPDX-License-Identifier: BSD-2-Clause
"""Stacks of mmap and fault taken inside a malloc() whose return alloc's probe has redirected."""
from chains import compare, complete
from lib import Memflame, Target, lossless

for kind in ("large", "alloc"):
    target = Target("no_frame_pointer", kind, "40")
    watchers = [(probe, Memflame(probe, "-p", target.pid, "--max-depth", 1023))
                for probe in ("alloc", "mmap", "fault", "brk")]
    truth = target.work()
    for _, memflame in watchers:
        memflame.stop()
    target.end()
    for probe, memflame in watchers:
        profile, summary = memflame.profile(), memflame.summary()
        lossless(profile, summary)
        if summary["stacks"]["captured"]:
            complete(summary)
        # For small blocks the functions that alloc watches make no system calls.
        if probe == "alloc" or kind == "large" and probe == "mmap":
            compare(profile, truth, probe, others=probe != "alloc", at_least=probe != "alloc")
