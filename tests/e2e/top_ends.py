# SPDX-License-Identifier: BSD-2-Clause
"""top: however it ends, the terminal is as it was, and nothing that a command wrote is lost."""
import os
import re
import signal
import subprocess
import sys
import time

from lib import MEMFLAME, check, equal, example, path, spawn, wait_until
from screen import Screen

TALKER = "import sys, time\nprint('out', sys.stdin.read(), flush=True)\nprint('err', file=sys.stderr, flush=True)\n" \
         "time.sleep(float(sys.argv[1]))\nsys.exit(7)"


def target_dies():
    target = spawn([example("leaky"), "600"], stdout=subprocess.DEVNULL)
    screen = Screen("top", "-p", target.pid)
    screen.until("transcript_create", "it watches")
    target.kill()
    target.wait()
    said = screen.wait()
    check("memflame: lost " in said and "memflame: live " in said, said)


def signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        target = spawn([example("leaky"), "600"], stdout=subprocess.DEVNULL)
        screen = Screen("top", "-p", target.pid)
        screen.process.send_signal(number)
        said = screen.wait()
        check("memflame: live " in said, said)
        equal("the target goes on", target.poll(), None)
        target.kill()
        target.wait()


def duration():
    screen = Screen("top", "-d", "2", "-p", os.getpid())
    check(re.search(r"in 2\.\d s", screen.wait()), "-d ends it")


def commands():
    """What a command writes goes to a file, its input is empty, and its status is memflame's."""
    screen = Screen("top", "-o", path("said"), "--", sys.executable, "-c", TALKER, "2")
    said = screen.wait(7)
    with open(path("said"), encoding="utf-8") as stream:
        equal("what it wrote", stream.read(), "out \nerr\n")
    check(f"the command wrote 9 B -> {path('said')}" in said, said)
    check(b"out \r\n" not in screen.raw and b"err\r\n" not in screen.raw, "not to the screen")

    screen = Screen("top", "--", sys.executable, "-c", TALKER, "1", env={"TMPDIR": path(".")})
    said = screen.wait(7)
    file = re.search(r"the command wrote 9 B -> (\S+)", said)
    check(file, said)
    equal("only for its owner", os.stat(file[1]).st_mode & 0o777, 0o600)

    screen = Screen("top", "--", "true", wait=False, env={"TMPDIR": path("."), "LC_ALL": "C"})
    screen.wait(0)
    check(not [name for name in os.listdir(path(".")) if name.endswith(f"{screen.process.pid}.out")],
          "no empty file stays")

    # Input that is not the terminal is the command's.
    with open(path("input"), "w", encoding="utf-8") as stream:
        stream.write("words")
    with open(path("input"), encoding="utf-8") as stream:
        screen = Screen("top", "-o", path("said2"), "--", sys.executable, "-c", TALKER, "1", stdin=stream)
    screen.wait(7)
    with open(path("said2"), encoding="utf-8") as stream:
        equal("it read", stream.read(), "out words\nerr\n")

    Screen("top", "--", "no-such-command-here", wait=False).wait_only(127)


def stopped():
    """Ctrl-Z leaves the screen and stops memflame; when it goes on, so does the screen."""
    target = spawn([example("leaky"), "600"], stdout=subprocess.DEVNULL)
    shell = Screen("top", "-p", target.pid, through_shell=True)
    shell.until("transcript_create", "it watches")
    before = shell.raw.count(b"\033[?1049h")
    shell.keys("\x1a")
    wait_until(lambda: shell.text() is not None and b"\033[?1049l" in shell.raw, "the screen is left")
    shell.until("Stopped", "the shell says that it is stopped")
    shell.keys("echo $((41 + 1)) is the answer\r")
    shell.until("42 is the answer", "the shell works")
    shell.keys("fg\r")
    wait_until(lambda: shell.text() is not None and shell.raw.count(b"\033[?1049h") > before, "it is back")
    shell.until("transcript_create", "and draws")
    shell.keys("q")
    shell.until("memflame: live ", "it ends")
    shell.keys("exit\r")
    target.kill()
    target.wait()


def crash():
    target = spawn([example("leaky"), "600"], stdout=subprocess.DEVNULL)
    screen = Screen("top", "-p", target.pid)
    screen.until("transcript_create", "it watches")
    screen.process.send_signal(signal.SIGSEGV)
    screen.wait(-signal.SIGSEGV)
    target.kill()
    target.wait()


def gone():
    """The terminal is closed: memflame ends, and the target does not."""
    target = spawn([example("leaky"), "600"], stdout=subprocess.DEVNULL)
    screen = Screen("top", "-p", target.pid)
    os.close(screen.slave)
    os.close(screen.master)
    screen.process.wait(60)
    time.sleep(0.2)
    equal("the target goes on", target.poll(), None)
    target.kill()
    target.wait()


if __name__ == "__main__":
    for case in (target_dies, signals, duration, commands, stopped, crash, gone):
        if len(sys.argv) < 2 or case.__name__ in sys.argv[1:]:
            case()
