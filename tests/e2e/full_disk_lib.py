# SPDX-License-Identifier: BSD-2-Clause
"""A disk of its own (8 MiB), which can be full."""
import atexit
import os
import shutil
import subprocess

from lib import equal, path

PAGE = 4096
DISK = path("disk")
os.mkdir(DISK)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", DISK], check=True)
atexit.register(subprocess.run, ["umount", "-l", DISK], check=False)


def leave(pages):
    """Fills the disk, so that this many pages are free."""
    with open(f"{DISK}/ballast", "wb", buffering=0) as ballast:
        try:
            while ballast.write(b"x" * PAGE):
                pass
        except OSError:
            ballast.truncate((ballast.tell() // PAGE - pages) * PAGE)
    equal("free pages", shutil.disk_usage(DISK).free, pages * PAGE)


def make_room():
    os.remove(f"{DISK}/ballast")
