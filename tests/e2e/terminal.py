# SPDX-License-Identifier: BSD-2-Clause
"""On a terminal: memflame shows a status line, writes no SVG to it, and the command keeps it."""
import os
import pty
import select
import subprocess
import sys
import time

from lib import MEMFLAME, PATIENCE, USAGE, check, equal, example, path


def on_terminal(*arguments, stderr=None, seconds=PATIENCE):
    """The exit code, and what the terminal showed."""
    master, slave = pty.openpty()
    process = subprocess.Popen([MEMFLAME, *arguments], stdin=slave, stdout=slave,
                               stderr=stderr or slave, start_new_session=True)
    os.close(slave)
    shown, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        readable, _, _ = select.select([master], [], [], 0.2)
        if readable:
            try:
                part = os.read(master, 65536)
            except OSError:  # EIO: nobody has the other side open any more
                break
            shown += part
        elif process.poll() is not None:
            break
    os.close(master)
    return process.wait(5), shown.decode(errors="replace")


status, shown = on_terminal("brk", "-d", "0.2")
equal("an SVG to a terminal", status, USAGE)
check("-o" in shown and "<svg" not in shown, f"a hint instead of a picture: {shown}")

status, shown = on_terminal("brk", "-d", "0.2", "--format", "folded")
equal(f"folded text to a terminal: {shown}", status, 0)

status, shown = on_terminal("alloc", "-o", path("x.svg"), "--", example("leaky"), "3")
equal(f"status line: {shown}", status, 0)
check(shown.count("\r") > 2, f"a line that is written anew: {shown!r}")
check(os.path.getsize(path("x.svg")) > 0, "the picture")

status, shown = on_terminal("alloc", "-o", path("tty.json"), "--", sys.executable, "-c",
                            "import os; print([os.isatty(fd) for fd in (0, 1, 2)])")
check("[True, True, True]" in shown, f"the command has the terminal: {shown}")
