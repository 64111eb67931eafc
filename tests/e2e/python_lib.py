# SPDX-License-Identifier: BSD-2-Clause
"""The interpreters of Python here."""
import glob
import os
import shutil
import subprocess

from lib import LONG

KNOWN = range(11, 16)
NONE = "SKIPPED: no Python 3.11 to 3.15"


def pythons():
    """The interpreters here that memflame knows, by version, also those of pyenv: all in "scripts/test full", else the oldest
    and the newest. MEMFLAME_PYTHON: programs elsewhere, with a colon between them; then it is all, too."""
    found = {}
    elsewhere = os.environ.get("MEMFLAME_PYTHON", "").split(":") + glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    for name in ("/usr/bin/python3", *(f"python3.{minor}" for minor in KNOWN), *elsewhere):
        if not shutil.which(name):
            continue
        told = subprocess.run([name, "-c", "import sys; print(sys.executable, *sys.version_info[:2])"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        if told.returncode == 0:
            program, major, minor = told.stdout.split()
            if major == "3" and int(minor) in KNOWN:
                found.setdefault(minor, program)
    if not LONG and len(found) > 2 and "MEMFLAME_PYTHON" not in os.environ:
        found = {minor: found[minor] for minor in (min(found, key=int), max(found, key=int))}
    return found


def is_script(frame):
    return frame.endswith(")") and ".py:" in frame


def by_python(profile, column, function=""):
    """A figure of the blocks of Python's own allocator, of those allocated in calls of a function."""
    at = profile.columns.index(column)
    return sum(values[at] for frames, values in profile.stacks
               if frames[-1].startswith(("PyObject_", "PyMem_")) and
               (not function or any(frame.startswith(f"{function} (") for frame in frames)))
