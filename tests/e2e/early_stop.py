#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A stop signal before memflame counts ends it at once, by that signal; the target runs on, and a command never begins."""
import os
import select
import signal
import subprocess

import lib
from lib import MEMFLAME, check, equal, path

SOURCE = """
#include <stdlib.h>
#include <unistd.h>
int main(void) { for (;;) { free(malloc(100)); usleep(1000); } }
"""
with open(path("program.c"), "w", encoding="utf-8") as stream:
    stream.write(SOURCE)
subprocess.run(["gcc", "-O0", "-o", path("program"), path("program.c")], check=True)
target = lib.spawn([path("program")])


def threads(process):
    try:
        return len(os.listdir(f"/proc/{process.pid}/task"))
    except FileNotFoundError:
        return 2


def held_before_it_counts(arguments):
    """memflame, stopped while it attaches: the signal comes then, however fast or slow the machine is."""
    for _ in range(20):
        if os.path.exists(path("touched")):  # by one that counted
            os.unlink(path("touched"))
        ready, ready_write = os.pipe()
        process = lib.spawn([MEMFLAME, "alloc", "-o", path("out.svg"), "--ready-fd", str(ready_write), *arguments],
                            pass_fds=[ready_write], stderr=subprocess.PIPE, text=True)
        os.close(ready_write)
        while threads(process) == 1 and process.poll() is None:  # looks as often as it can: a run may be short
            pass
        process.send_signal(signal.SIGSTOP)
        counts = bool(select.select([ready], [], [], 0)[0])
        os.close(ready)
        if not counts and process.poll() is None:
            return process
        process.kill()
        process.communicate()
    raise AssertionError("memflame always counted before it could be held")


for collector in ("kernel", "inside"):
    for stop in (signal.SIGTERM, signal.SIGINT):
        for arguments in (("-p", str(target.pid)), ("--", "touch", path("touched"))):
            what = f"{stop.name}, {collector}, {arguments[0]}"
            memflame = held_before_it_counts(("--collect", collector, *arguments))
            memflame.send_signal(stop)
            memflame.send_signal(signal.SIGCONT)
            said = memflame.communicate(timeout=lib.PATIENCE)[1]
            equal(f"{what}: how memflame ended", memflame.returncode, -stop)
            check("before it counted" in said, f"{what}: {said}")
            check(not os.path.exists(path("touched")), f"{what}: the command began")
            check(target.poll() is None, f"{what}: the target ended")
