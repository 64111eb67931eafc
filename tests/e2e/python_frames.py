# SPDX-License-Identifier: BSD-2-Clause
"""Functions of Python in stacks, against Python's own word: a program allocates blocks of one size from random paths
of calls, and writes down its own stack with lines each time. What memflame saw must be the same stacks, as often. Native
frames stay as they are without the functions."""
import collections
import json
import os
import sys

from frames_lib import SIZE, as_said, program_text, same_native_frames, stacks_of, watched
from lib import LONG, check, equal, losses, path
from python_lib import NONE, is_script, pythons

COUNT = int(os.environ.get("MEMFLAME_PYTHON_STACKS", "20000" if LONG else "7000"))


def run(program, name, *options, count=COUNT, threads=3):
    """What the program says of its stacks, and memflame's profile."""
    truth = path(f"{name}.json")
    memflame = watched([program, path("frames.py"), str(count), truth, str(threads)], *options,
                       env={**os.environ, "PYTHONHASHSEED": "0"})
    with open(truth, encoding="utf-8") as file:
        return json.load(file), memflame


with open(path("frames.py"), "w", encoding="utf-8") as file:
    file.write(program_text("frames.py", ALLOCATE=f"libc.free(libc.malloc({SIZE}))"))
versions = pythons()
if not versions:
    print(NONE)
    sys.exit(77)
for minor, program in versions.items():
    truth, memflame = run(program, minor)
    equal(f"3.{minor}: lost", losses(memflame.summary()), {})
    got = collections.Counter()
    for stack, count in stacks_of(memflame.profile()).items():
        names = [frame for frame in stack if is_script(frame)]
        check(names and names[-1].startswith("mark ("), f"3.{minor}: the stack of a call of mark(): {stack}")
        got[json.dumps(names[:-1])] += count
    wanted = collections.Counter(truth)
    as_said(f"3.{minor}", got, wanted)

    # One thread does the same in each run.
    runs = [run(program, minor, "--languages", languages, count=2000, threads=1)[1] for languages in ("off", "auto")]
    same_native_frames(f"3.{minor}", runs, is_script)
