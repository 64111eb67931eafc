# SPDX-License-Identifier: BSD-2-Clause
"""memflame on a terminal that is read as a user sees it."""
import fcntl
import os
import pty
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time

from lib import MEMFLAME, PATIENCE, by_kernel, check, equal

try:
    import pyte
except ImportError:
    print("SKIPPED: needs python3-pyte")
    sys.exit(77)

UP, DOWN, HOME, END, PAGE_DOWN, PAGE_UP = "\033OA", "\033OB", "\033[1~", "\033[4~", "\033[6~", "\033[5~"
ENTER, ESCAPE = "\r", "\033"


class Emulator(pyte.Screen):
    """With the two commands that pyte lacks."""

    def scroll(self, change, count):
        row, column = self.cursor.y, self.cursor.x
        self.cursor.y = self.margins.top if self.margins else 0
        change(count)
        self.cursor.y, self.cursor.x = row, column

    def scroll_up(self, count=1):
        self.scroll(self.delete_lines, count)

    def scroll_down(self, count=1):
        self.scroll(self.insert_lines, count)


class Stream(pyte.ByteStream):
    csi = {**pyte.ByteStream.csi, "S": "scroll_up", "T": "scroll_down"}
    events = pyte.ByteStream.events | {"scroll_up", "scroll_down"}


class Screen:
    """A terminal of the kind that the program `screen` is, with memflame as its foreground job."""

    def __init__(self, *arguments, columns=80, rows=24, wait=True, through_shell=False, **options):
        self.master, self.slave = pty.openpty()
        self.emulator = Emulator(columns, rows)
        self.stream = Stream(self.emulator)
        self.raw = b""
        self.resize(columns, rows)
        self.modes = termios.tcgetattr(self.slave)
        environment = {**os.environ, "TERM": "screen", "LC_ALL": "C.UTF-8", **options.pop("env", {})}
        environment.pop("NO_COLOR", None)
        words = (arguments[0], *by_kernel(arguments[0], [str(word) for word in arguments[1:]]))
        command = ["bash", "--norc", "-i"] if through_shell else [MEMFLAME, *words]
        self.process = subprocess.Popen(
            command, stdin=options.pop("stdin", self.slave), stdout=self.slave, stderr=self.slave,
            env=environment, preexec_fn=self.take_terminal, **options)
        if through_shell:
            self.keys(" ".join(map(shlex.quote, [MEMFLAME, *words])) + "\r")
        if wait:
            self.until("memflame top:", "the screen appears")

    def take_terminal(self):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.emulator.resize(rows, columns)

    def read(self, seconds=0.1):
        end = time.monotonic() + seconds
        while True:
            readable, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            if not readable:
                return
            part = os.read(self.master, 65536)
            self.raw += part
            self.stream.feed(part)

    def text(self):
        self.read()
        return "\n".join(line.rstrip() for line in self.emulator.display)

    def lines(self):
        return self.text().split("\n")

    def until(self, wanted, what, seconds=PATIENCE):
        """Waits until the screen has a text, or a condition is true of it; returns the screen."""
        end = time.monotonic() + seconds
        while True:
            text = self.text()
            if wanted(text) if callable(wanted) else wanted in text:
                return text
            check(time.monotonic() < end and self.process.poll() is None,
                  f"{what}: {wanted!r} does not appear on\n{text}")

    def keys(self, text):
        os.write(self.master, text.encode())
        self.read(0.2)

    def row(self, name):
        """The cells of the first row with this in its last column."""
        found = [line for line in self.lines()[4:] if name in line]
        return found[0] if found else None

    def wait(self, status=0):
        """The end of memflame, and the lines after it; the terminal must be as it was."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            check(time.monotonic() < end, f"memflame hangs:\n{self.text()}")
            self.read()
        self.read(0.3)
        equal(f"exit status, after:\n{self.text()}\n", self.process.returncode, status)
        equal("settings of the terminal", termios.tcgetattr(self.slave), self.modes)
        check(b"\033[?1049l" in self.raw, "the screen is left")
        check(self.raw.rfind(b"\033[?25h") > self.raw.rfind(b"\033[?25l"), "the cursor is shown again")
        return self.raw[self.raw.rfind(b"\033[?1049l"):].decode(errors="replace")

    def wait_only(self, status):
        """The end of memflame, without any screen."""
        self.read(1)
        equal(f"exit status, after:\n{self.text()}\n", self.process.wait(PATIENCE), status)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
