# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: a process in which an agent has spoken, and that then runs a static program, is named; so is a
program that contains its allocator."""
import os
import subprocess
import sys
import time

from lib import Memflame, check, equal, example

STATIC = example("alloc_truth_static")
if not os.path.exists(STATIC):
    print("SKIPPED: no static program")
    sys.exit(77)


def watch(script, seconds=1):
    """The summary of a script whose static program lives for some seconds."""
    memflame = Memflame("alloc", "--inside", "--", "bash", "-c", script, STATIC, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, text=True)
    equal("the program is there", memflame.process.stdout.readline().split()[:1], ["ready"])
    time.sleep(seconds)
    memflame.process.communicate("go\nleave\n")
    memflame.wait()
    return memflame.summary(), memflame.stderr()


# The command itself, and a child of it that goes on as another program.
for script in ('exec "$0" --wait', '(x=$(echo $RANDOM); exec "$0" --wait); echo'):
    for seconds in (1, 5, 25):  # until a busy machine lets memflame look
        summary, said = watch(script, seconds)
        if summary["losses"]["process_uncovered"]["events"]:
            break
    equal(f"processes without an agent: {said}", summary["losses"]["process_uncovered"]["events"], 1)
    check(any("1 process was not seen (alloc_truth_sta" in note for note in summary["notes"]), summary["notes"])

# A program that an agent speaks in takes over in the same way, and nothing is missed.
summary, said = watch(f'exec {example("alloc_truth")} --wait')
equal(f"processes without an agent: {said}", summary["losses"]["process_uncovered"]["events"], 0)

# A dynamic program with jemalloc in it: its calls never come to the agent.
OWN = example("allocator_matrix_jemalloc_archive")
if os.path.exists(OWN):
    for command in ((OWN,), ("sh", "-c", f"{OWN}; true")):
        memflame = Memflame("alloc", "--inside", "--", *command).wait()
        summary = memflame.summary()
        equal("programs that contain their allocator", summary["losses"]["process_uncovered"]["events"], 1)
        check(any("1 process was not seen (allocator_matr" in note for note in summary["notes"]), summary["notes"])
