#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs clang-tidy on a file, unless the very same code has passed before.

    tidy_file.py FOLDER_OF_COMPILE_COMMANDS FILE

A file that several programs are made of is read once for each set of macros that it is compiled with.
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


def variants_of(commands, file):
    """The ways in which a file is read: flags for the compiler, and the folder to run it in."""
    found = {}
    for entry in json.loads((commands / "compile_commands.json").read_text()):
        if Path(entry["directory"], entry["file"]) == file:
            words = shlex.split(entry["command"])[1:]
            output = words.index("-o")
            kept = [word for word in words[:output] + words[output + 2:] if word not in ("-c", entry["file"])]
            macros = tuple(word for word in kept if word.startswith("-D") and not word.endswith("_EXPORTS"))
            found.setdefault(macros, (kept, entry["directory"]))
    return found.values()


def key_of(flags, folder, file):
    """A hash of all that the result depends on; None if the file cannot be preprocessed."""
    code = subprocess.run(["clang++", *flags, "-E", "-C", "-dD", "-w", file], cwd=folder, capture_output=True)
    if code.returncode:
        return None
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    about = [version, (ROOT / ".clang-tidy").read_bytes(), "\0".join(flags).encode(), code.stdout]
    return hashlib.sha256(b"\0".join(about).replace(bytes(ROOT), b"")).hexdigest()


def passes(flags, folder, file):
    key = key_of(flags, folder, file)
    if key and (CACHE / key).exists():
        return True
    tidy = subprocess.run(["clang-tidy", "--quiet", file, "--", *flags], cwd=folder)
    if key and tidy.returncode == 0:
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / key).touch()
    return tidy.returncode == 0


def main():
    commands, file = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    variants = variants_of(commands, file)
    if not variants:
        print(f"tidy_file.py: {commands}/compile_commands.json does not name {file}", file=sys.stderr)
        return 1
    return 0 if all([passes(flags, folder, file) for flags, folder in variants]) else 1


sys.exit(main())
