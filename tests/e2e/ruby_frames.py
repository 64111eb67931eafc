# SPDX-License-Identifier: BSD-2-Clause
"""Functions of Ruby in stacks, against Ruby's own word: a program allocates blocks of one size from random paths of
calls, and writes down its own stack with lines each time. What memflame saw must be the same stacks, as often. Native
frames stay as they are without the functions."""
import json
import os
import subprocess
import sys

from frames_lib import SIZE, as_told, program_text, same_native_frames, watched
from lib import LONG, equal, path

COUNT = int(os.environ.get("MEMFLAME_RUBY_STACKS", "10000" if LONG else "4000"))
KNOWN = ("3.1", "3.2", "3.3", "3.4")


def rubies():
    """The commands of the Rubies here that memflame knows, by version. MEMFLAME_RUBY_ROOT: a system with another one.
    MEMFLAME_RUBY: a program elsewhere."""
    found, root, elsewhere = {}, os.environ.get("MEMFLAME_RUBY_ROOT"), os.environ.get("MEMFLAME_RUBY")
    for command in [["ruby"], *([[elsewhere]] if elsewhere else []), *([["chroot", root, "ruby"]] if root else [])]:
        try:
            told = subprocess.run([*command, "-e", "puts RUBY_VERSION"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True, check=False)
        except FileNotFoundError:
            continue
        version = ".".join(told.stdout.split(".")[:2])
        if version in KNOWN:
            found.setdefault(version, command)
    return found


def run(command, name, *options, count=COUNT, threads=3):
    """What the program says of its stacks, and memflame's profile."""
    root = command[1] if command[0] == "chroot" else ""
    program, truth = (path("frames.rb"), path(f"{name}.json")) if not root else ("/tmp/frames.rb", "/tmp/truth.json")
    with open(root + program, "w", encoding="utf-8") as file:
        file.write(program_text("frames.rb", BLOCK_BYTES=SIZE,
                                MANY_STATEMENTS="\n".join(f"a += {i} if a > {i}" for i in range(150))))
    memflame = watched([*command, program, str(count), truth, str(threads)], *options,
                       env={**os.environ, "LC_ALL": "C.UTF-8"})
    with open(root + truth, encoding="utf-8") as file:
        return json.load(file), memflame


def as_ruby_says(stack, version):
    """Since 3.4, Ruby tells of a rescue or an ensure in place of the function around it, and gives eval's code its name."""
    if version < "3.4":
        return stack
    told = []
    for frame in stack:
        if frame.startswith(("rescue in ", "ensure in ")):
            told.pop()
            frame = frame.removeprefix(frame[:len("rescue in ")])
        if frame.startswith("<compiled> (") and told:
            frame = told[-1].rsplit(" (", 1)[0] + frame.removeprefix("<compiled>")
        told.append(frame)
    return told


def is_script(frame):
    return frame.endswith(")") and (".rb:" in frame or "(<internal:" in frame or "((eval" in frame)


versions = rubies()
if not versions:
    print(f"SKIPPED: no Ruby {' or '.join(KNOWN)}")
    sys.exit(77)
for version, command in versions.items():
    truth, memflame = run(command, version)
    as_told(version, memflame, truth, is_script, lambda stack, of=version: as_ruby_says(stack, of))

    # One thread does the same in each run.
    runs = [run(command, version, "--languages", languages, count=2000, threads=0)[1] for languages in ("off", "auto")]
    same_native_frames(version, runs, is_script)
