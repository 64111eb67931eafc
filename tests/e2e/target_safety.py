# SPDX-License-Identifier: BSD-2-Clause
"""Exceptions and longjmp() out of allocation functions behave as without probes, and figures stay right."""
import subprocess

from lib import Memflame, equal, example

for probe in ("alloc", "brk", "mmap", "fault"):
    for program, says in (("bad_alloc", "caught 3\n"), ("longjmp_out", "jumped back 200\n")):
        memflame = Memflame(probe, "--", example(program), stdout=subprocess.PIPE, text=True)
        output, _ = memflame.process.communicate(timeout=60)
        memflame.wait()
        equal(f"{program} under {probe}", output, says)
        if probe != "alloc":
            continue
        profile, losses = memflame.profile(), memflame.summary()["losses"]
        if program == "bad_alloc":
            equal("blocks of 4321 bytes", profile.sum("live", "main", "operator new(unsigned long)"),
                  4 * 4321)
        else:
            equal("blocks after the jumps", profile.sum("live", "allocate_after_jumps"), 50000)
            equal("blocks that were never handed out", profile.sum("live", "jump_out"), 0)
            equal("calls left without returning", losses["calls_abandoned"]["events"], 200)
