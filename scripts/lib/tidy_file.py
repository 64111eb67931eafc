#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs clang-tidy on a file, unless the very same code has passed before.

    tidy_file.py FOLDER_OF_COMPILE_COMMANDS FILE

The same code: all that the preprocessor makes of the file and its headers, with comments (NOLINT) and
macros; and the same compiler flags, .clang-tidy and clang-tidy. Only what has passed is remembered, by a hash, in
~/.cache/memflame/tidy, so that it holds for all clones. A file that cannot be preprocessed is always read.
"""
import hashlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memflame" / "tidy"
ROOT = Path(__file__).resolve().parents[2]


def flags_of(commands, file):
    """The compiler's flags for a file and the folder to run it in, or None."""
    for entry in json.loads((commands / "compile_commands.json").read_text()):
        if Path(entry["directory"], entry["file"]) == file:
            words = shlex.split(entry["command"])[1:]
            output = words.index("-o")
            kept = words[:output] + words[output + 2:]
            return [word for word in kept if word != "-c"], entry["directory"]
    return None


def key_of(commands, file):
    """A hash of all that the result depends on; None if the file cannot be preprocessed."""
    found = flags_of(commands, file)
    if not found:
        return None
    flags, folder = found
    code = subprocess.run(["clang++", *flags, "-E", "-C", "-dD", "-w"], cwd=folder, capture_output=True)
    if code.returncode:
        return None
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    about = [version, (ROOT / ".clang-tidy").read_bytes(), "\0".join(flags).encode(), code.stdout]
    return hashlib.sha256(b"\0".join(about).replace(bytes(ROOT), b"")).hexdigest()


def main():
    commands, file = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    key = key_of(commands, file)
    if key and (CACHE / key).exists():
        return 0
    tidy = subprocess.run(["clang-tidy", "-p", commands, "--quiet", file])
    if key and tidy.returncode == 0:
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / key).touch()
    return tidy.returncode


sys.exit(main())
