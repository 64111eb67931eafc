# SPDX-License-Identifier: BSD-2-Clause
"""Functions of Python in stacks that the agent takes, against Python's own word, as python_frames.py does it for the
kernel's collector: of blocks of Python's own allocator, and of malloc in a thread that does not hold the global lock."""
import collections
import json
import os
import sys

from frames_lib import SIZE, as_said, program_text, stacks_of, watched
from lib import check, equal, losses, path
from python_lib import NONE, is_script, pythons

COUNT = int(os.environ.get("MEMFLAME_PYTHON_STACKS", "5000"))
KINDS = {
    # 33 bytes are those of the object itself.
    "object": f"bytes({SIZE - 33})",
    "unlocked": "libc.free(libc.strdup(TEXT))",
}
TEXT = f"""
TEXT = ctypes.create_string_buffer(b"x" * {SIZE - 1})
libc.strdup.restype = ctypes.c_void_p
"""

versions = pythons()
if not versions:
    print(NONE)
    sys.exit(77)
for kind, allocate in KINDS.items():
    with open(path(f"{kind}.py"), "w", encoding="utf-8") as file:
        file.write(program_text("frames.py", ALLOCATE=allocate).replace("\nseen = ", TEXT + "seen = ", 1))
    for minor, program in versions.items():
        truth = path("truth.json")
        memflame = watched([program, path(f"{kind}.py"), str(COUNT), truth, "3"], "--inside", "--python-heap",
                           env={**os.environ, "PYTHONHASHSEED": "0"})
        name = f"3.{minor}, {kind}"
        equal(f"{name}: lost", losses(memflame.summary()), {})
        got = collections.Counter()
        for stack, count in stacks_of(memflame.profile()).items():
            check("[python: unreadable]" not in stack, f"{name}: functions could not be read: {stack}")
            names = [frame for frame in stack if is_script(frame)]
            check(names and names[-1].startswith("mark ("), f"{name}: the stack of a call of mark(): {stack}")
            check(kind == "unlocked" or stack[-1].startswith("PyObject_"), f"{name}: {stack}")
            got[json.dumps(names[:-1])] += count
        with open(truth, encoding="utf-8") as file:
            as_said(name, got, collections.Counter(json.load(file)))
