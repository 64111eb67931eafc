# SPDX-License-Identifier: BSD-2-Clause
"""--memory bounds memflame's tables and its own memory together; what does not fit is counted."""
import contextlib
import json
import os
import subprocess
import sys

from lib import MEMFLAME, USAGE, check, equal, path, run

MIB = 1 << 20
KERNEL = tuple(int(number) for number in os.uname().release.split(".")[:2])
# More blocks than a small table holds, each too large for Python's own allocator.
BLOCKS = "x = [bytes(600) for _ in range(100000)]"


def measured(*options, **how):
    summary = path("summary")
    done = subprocess.run([MEMFLAME, "alloc", *options, "-o", path("o.json"), "--summary", summary,
                           "--", sys.executable, "-c", BLOCKS], capture_output=True, text=True,
                          check=False, **how)
    equal(f"status, with {done.stderr}", done.returncode, 0)
    with open(summary, encoding="utf-8") as stream:
        return json.load(stream), done.stderr


for mib in (24, 48):
    summary, said = measured("--memory", f"{mib}M")
    memory = summary["memory"]
    equal("limit", memory["limit"], mib * MIB)
    # Before 6.4 the kernel states a table's size as if it were full.
    if KERNEL >= (6, 4):
        check(memory["own_bytes"] + memory["kernel_bytes"] <= mib * MIB, f"it is kept: {memory}")
    check(memory["own_bytes"] > 0 and memory["kernel_bytes"] > 0, f"both are known: {memory}")
    check(summary["losses"]["live_table_full"]["events"] > 0, "blocks without room are counted")
    check(f"tables for --memory {mib}.0 MiB; what found them full" in said, f"and why: {said}")
equal("an exact total all the same", summary["totals"]["total"] > 60_000_000, True)

summary, said = measured("--memory", "200M")
equal("all blocks have room in 200 MiB", summary["losses"]["live_table_full"]["events"], 0)
check("larger --memory" not in said, f"nothing is lost: {said}")
for wrong in ("1M", "0", "x", "23.9M"):
    check("--memory" in run("alloc", "--memory", wrong, "--", "true", status=USAGE).stderr, wrong)

# In a control group with little memory, memflame makes its tables small by itself.
groups = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
for root, limit in groups:
    group = f"{root}/memflame-e2e-{os.getpid()}"
    try:
        os.mkdir(group)
    except OSError:
        continue
    try:
        if not os.path.exists(f"{group}/{limit}"):
            continue
        with open(f"{group}/{limit}", "w", encoding="utf-8") as stream:
            stream.write(str(400 * MIB))

        def enter(where=f"{group}/cgroup.procs"):
            with open(where, "w", encoding="utf-8") as procs:
                procs.write(str(os.getpid()))

        summary, said = measured(preexec_fn=enter)
        memory = summary["memory"]
        check(memory["limit_from_free_memory"], f"the group's limit counts: {memory}")
        check(24 * MIB <= memory["limit"] <= 50 * MIB, f"an eighth of 400 MiB: {memory}")
        check("an eighth of the memory that was free" in said, f"it says so: {said}")
        break
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(group)
else:
    print("SKIPPED: control groups, which cannot be made here")
