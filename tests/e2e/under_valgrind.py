# SPDX-License-Identifier: BSD-2-Clause
"""alloc: what a program under valgrind allocates is named as not seen, by both collectors; a program that is merely
called valgrind is measured."""
import json
import os
import shutil
import subprocess
import sys

from lib import LOSSY, PATIENCE, Memflame, check, equal, example, losses, path, run, spawn, wait_until

if shutil.which("valgrind") is None:
    print("SKIPPED: valgrind is not installed")
    sys.exit(77)

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}

for collector in ("kernel", "inside"):
    memflame = Memflame("alloc", "--collect", collector, "--strict", "--", "valgrind", "-q", "sleep", "1", wait=False,
                        **QUIET).wait(LOSSY)
    summary = memflame.summary()
    check(summary["losses"]["process_uncovered"]["events"] >= 1, f"{collector}: {losses(summary)}")
    check(any("not seen" in note and "memcheck" in note and "valgrind runs the program" in note
              for note in summary["notes"]), f"{collector} names it: {summary['notes']}")

    os.makedirs(path("bin"), exist_ok=True)
    shutil.copy(example("alloc_truth"), path("bin/valgrind"))
    memflame = Memflame("alloc", "--collect", collector, "--", path("bin/valgrind"), wait=False, **QUIET).wait()
    summary = memflame.summary()
    equal(f"{collector}: losses of a program that is called valgrind", losses(summary), {})
    check(not any("processor of its own" in note for note in summary["notes"]), summary["notes"])

# A tool that leaves malloc alone: the agent counts all.
memflame = Memflame("alloc", "--collect", "inside", "--strict", "--", "valgrind", "-q", "--tool=none",
                    example("alloc_truth"), wait=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
said = memflame.process.communicate(timeout=PATIENCE)[0]
summary = memflame.wait().summary()
memflame.profile().compare(json.loads(said[said.index("{"):said.rindex("}") + 1])["functions"])
equal("losses under valgrind --tool=none", losses(summary), {})
check(not any("not seen" in note for note in summary["notes"]), summary["notes"])

# One that runs already is refused: its tools that leave malloc alone end a program that meets a probe.
checked = spawn(["valgrind", "-q", "sleep", "1000"])
wait_until(lambda: os.readlink(f"/proc/{checked.pid}/exe").endswith("-linux"), "valgrind runs its tool")
for collector in ("kernel", "inside"):
    said = run("alloc", "--collect", collector, "-p", checked.pid, "-d", "1", status=1).stderr
    check("valgrind runs the program on a processor of its own" in said, said)
check(checked.poll() is None, "it was left alone")
checked.kill()
