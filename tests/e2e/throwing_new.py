# SPDX-License-Identifier: BSD-2-Clause
"""Exceptions from every operator new of every allocator, with all probes on, behave as without probes."""
import os
import subprocess

from allocator_matrix import CELLS, environment, missing, program
from lib import LONG, PATIENCE, Memflame, check, equal, example

THROWING = 4  # kinds of operator new that throw
GAPS = 32  # distances at which a program goes on after an exception
caught = 0
for allocator, ways in CELLS:
    if allocator == "musl":
        continue
    for way in ways:
        wrong = missing("throwing_new", allocator, way)
        check(not wrong, wrong)
        name = example(program("throwing_new", allocator, way))
        for arguments in ([], ["handler"]) if LONG or way == ways[0] else ([],):
            environ = environment(allocator, way)
            alone = subprocess.run([name, *arguments], capture_output=True, text=True,
                                   timeout=PATIENCE, check=False, env=environ)
            # The command alone gets LD_PRELOAD, memflame does not.
            words = ["env", f"LD_PRELOAD={environ['LD_PRELOAD']}"] if environ else []
            memflame = Memflame("alloc", "--", *words, name, *arguments, stdout=subprocess.PIPE,
                                text=True)
            output, _ = memflame.process.communicate(timeout=PATIENCE)
            # memflame reports death by a signal as a shell does.
            status = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
            memflame.wait(status)
            what = f"{os.path.basename(name)} {way} {arguments}"
            equal(f"{what}: output", output, alone.stdout)
            if status:
                continue
            equal(f"{what}: exceptions caught", output.count("caught 3\n"), THROWING)
            caught += 1
            # Four blocks for each throwing function, one for each other.
            kinds = 4 * THROWING + (0 if arguments else 4)
            profile = memflame.profile()
            equal(f"{what}: bytes kept", profile.sum("live", "asks_for_little"), kinds * 4352)
            equal(f"{what}: blocks kept", profile.sum("live-count", "asks_for_little"), kinds)
            # Only the exceptions themselves, no block that was asked for.
            equal(f"{what}: kept of what failed", profile.sum("live", "asks_for_too_much"), 0)
            check(profile.sum("total", "asks_for_too_much") < 500000, f"{what}: what failed counts")
            equal(f"{what}: freed", profile.sum("live", "gives_back"), 0)
            after = [profile.sum(column, "goes_on") for column in profile.columns]
            count = THROWING * GAPS
            equal(f"{what}: after an exception", after,
                  [count * 100, count, count * 300, count * 2])
check(caught >= (20 if LONG else 14), f"only {caught} programs could throw")
