# SPDX-License-Identifier: BSD-2-Clause
"""A run ends while its target goes on to fork. Processes that begin or end after the end of counting are not part of
the run: neither of what was captured, nor of what the system says, nor of the list of processes."""
import subprocess
import time

from lib import SLOW, Memflame, Profile, check, example, losses, path, run, spawn

CHILD_PAGES = 1000  # more than a child ever has

target = spawn(["sh", "-c", f"read go; while :; do {example('short_lived')}; done"], stdin=subprocess.PIPE)
memflame = Memflame("record", "--probes", "alloc,brk,fault", "--children", "exact", "--interval", "0.1",
                    "--max-stacks", 600000, "-p", target.pid, output="mfr")
target.stdin.write(b"go\n")
target.stdin.flush()
time.sleep(20 if SLOW else 1)
memflame.stop()
target.kill()
target.wait()

summary = memflame.summary()
lost = losses(summary)
# A busy machine may lose parts of the log of what all these programs map. That costs names, but no figures.
unnamed = lost.pop("mapping_records_lost", None)
check(not lost, f"something was lost: {lost}")
pids = len(summary["pids"])
check(pids > 10, f"many processes were watched: {pids}")
# A child that runs at the end goes on between the end of counting and the reading of the system's figure.
for row in summary["reconciliation"]:
    if not row["name"].startswith("alloc"):
        check(abs(row["captured"] - row["os"]) <= CHILD_PAGES * 4096, f"{row}, {summary['notes']}")
run("render", memflame.output, "--format", "json", "-o", path("drawn.json"))
blocks = Profile(path("drawn.json")).sum("total-count", "allocate_and_vanish")
# The shell has no such block, nor may the last child.
check(0 <= pids - 1 - blocks <= 2 or unnamed, f"{pids} processes, {blocks} of which have their block")
