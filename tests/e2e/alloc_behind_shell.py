# SPDX-License-Identifier: BSD-2-Clause
"""alloc: a static program that a shell starts gets its probes late: the file and the process are named."""
import subprocess

from lib import Memflame, check, equal, example

PROGRAM = example("alloc_truth_static")
COMMAND = ("--collect", "kernel", "--", "sh", "-c", f"exec {PROGRAM}")

memflame = Memflame("alloc", *COMMAND, wait=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).wait()
summary = memflame.summary()
equal("late files", summary["losses"]["late_attach"]["events"], 1)
named = f"{PROGRAM} got its probes late: alloc_truth_sta ("
check(any(note.startswith(named) for note in summary["notes"]), f"the notes name it: {summary['notes']}")
Memflame("alloc", "--strict", *COMMAND, wait=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).wait(4)
