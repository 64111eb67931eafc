# SPDX-License-Identifier: BSD-2-Clause
"""Processes that have one pid, one after the other, are different processes in a recording, also with the same
program and the same addresses. The case starts itself once more in a PID namespace, where nobody else takes pids."""
import json
import os
import subprocess
import sys

from lib import PATIENCE, Memflame, check, equal, example, losses, run, wait_until
from recording_lib import at, drawn, mark, wait_for_looks

PID = 300
COUNTS = (100, 250, 400)


def inside():
    equal("this is a namespace of its own", os.getpid(), 1)
    runner = (f"for n in {' '.join(map(str, COUNTS))}; do read go; echo {PID - 1} >/proc/sys/kernel/ns_last_pid; "
              f"{example('many_stacks')} $n >/dev/null & wait $!; echo $!; done; read go")
    memflame = Memflame("record", "--probes", "alloc,brk,mmap,fault", "--interval", "0.1", "--children", "exact", "--",
                        "setarch", "x86_64", "-R", "sh", "-c", runner,
                        output="mfr", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: os.path.exists(memflame.output), "the recording")
    moments = [0]

    def go():
        memflame.process.stdin.write("go\n")
        memflame.process.stdin.flush()

    for number in range(len(COUNTS)):
        go()
        equal("the pid", memflame.process.stdout.readline(), f"{PID}\n")
        wait_for_looks(memflame.output)
        moments.append(mark(memflame, f"after {number}"))
    go()
    memflame.wait()
    summary = memflame.summary()
    check(not losses(summary), f"something was lost: {losses(summary)}")
    equal("how often the pid is listed", summary["pids"].count(PID), 1)

    # If blocks, or the program's break, were those of a pid, the next process would take over its predecessor's.
    for i, count in enumerate(COUNTS):
        what = f"of process {i}"
        equal(f"blocks until the end {what}", at(memflame.output, moments[i + 1]).sum("live-count", "reach_leaf"),
              sum(COUNTS[:i + 1]))
        growth = drawn(memflame.output, "--between", f"{moments[i]}..{moments[i + 1] + 0.001:.3f}")
        equal(f"blocks {what}", growth.sum("live-count", "reach_leaf"), count)
        check(growth.sum("brk-grown", "many_stacks") > 0, f"break {what}")
    profile = drawn(memflame.output)
    for column, wanted in (("live-count", sum(COUNTS)), ("live", 16 * sum(COUNTS)), ("total-count", sum(COUNTS))):
        equal(f"{column} of all", profile.sum(column, "reach_leaf"), wanted)
    for row in summary["reconciliation"]:
        if row["name"].startswith("brk"):
            equal("the break and [heap]", row["captured"], row["os"])
    # Each of them has ended: their blocks are those of ended processes, one stack for each.
    notes = json.loads(run("timeline", memflame.output, "--format", "json").stdout)["notes"]
    ended = [int(note.split()[0]) for note in notes if "have ended" in note]
    check(ended and ended[0] >= len(COUNTS), notes)


if "--inside" in sys.argv:
    inside()
else:
    done = subprocess.run(["unshare", "-m", "-p", "-f", "--mount-proc", sys.executable, os.path.abspath(__file__),
                           "--inside"], check=False, timeout=PATIENCE)
    equal("the part inside", done.returncode, 0)
