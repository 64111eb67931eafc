# SPDX-License-Identifier: BSD-2-Clause
"""alloc and leaks: a static program that a shell starts gets its probes late, or none if it has no symbols: the
file and the process are named, and are a loss."""
import subprocess

from lib import LOSSY, Memflame, check, equal, example, path, run

PROGRAM = example("alloc_truth_static")
COMMAND = ("--collect", "kernel", "--", "sh", "-c", f"exec {PROGRAM}")

memflame = Memflame("alloc", *COMMAND, wait=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).wait()
summary = memflame.summary()
equal("late files", summary["losses"]["late_attach"]["events"], 1)
named = f"{PROGRAM} got its probes late: alloc_truth_sta ("
check(any(note.startswith(named) for note in summary["notes"]), f"the notes name it: {summary['notes']}")

stripped = path("stripped")
subprocess.run(["strip", "-o", stripped, PROGRAM], check=True)
for program, words in ((PROGRAM, named),
                       (stripped, "malloc and free were not found in " + stripped)):
    behind = ("--strict", "--collect", "kernel", "--", "sh", "-c", f"exec {program}")
    Memflame("alloc", *behind, wait=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).wait(LOSSY)
    said = run("leaks", "--fail-if-leaked", "1G", *behind, status=LOSSY, stdin=subprocess.DEVNULL).stderr
    check(words in said, f"leaks names it: {said}")
    check("memflame: lost 1\n" in said and "memflame: not certain: lost 1: " in said, f"and counts it: {said}")
