#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""--program, --owner and --above: processes are chosen by what /proc says of them, also those that begin, or grow, while
memflame counts; from then on their figures are exact. Others are left alone."""
import os
import shutil
import subprocess
import time

from lib import Memflame, Target, check, equal, example, lossless, path, run, spawn

NAME = f"scanned{os.getpid()}"
shutil.copy(example("alloc_truth"), path(NAME))
SCAN = 7  # seconds, in which every process is looked at


def exact(memflame, truth):
    memflame.stop()
    profile, summary = memflame.profile(), memflame.summary()
    profile.compare(truth["functions"])
    profile.compare(truth["frameless"])
    lossless(profile, summary)
    return profile, summary


# One that runs, and one that comes; a program of another name does the same.
first, other = Target("alloc_truth", executable=path(NAME)), Target("alloc_truth")
memflame = Memflame("alloc", "--children", "exact", "--program", NAME)
second = Target("alloc_truth", executable=path(NAME))
time.sleep(SCAN)
other.work()
first.work()
truth = second.work()
memflame.stop()
profile, summary = memflame.profile(), memflame.summary()
for section in ("functions", "frameless"):
    profile.compare({name: {key: 2 * figure for key, figure in figures.items()}
                     for name, figures in truth[section].items()})
lossless(profile, summary)
check({first.pid, second.pid} <= set(summary["pids"]), f"both are watched: {summary['pids']}")
check(other.pid not in summary["pids"], "another program is left alone")

# One that grows while memflame counts, of a user. Nobody else has a process of that program.
grower = spawn(["setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/python3", "-c",
                "import sys\nsys.stdin.readline()\nblock = b'x' * (400 << 20)\nprint('grown', flush=True)\n"
                "sys.stdin.readline()\nmore = [b'x' * 100_000 for _ in range(100)]\nprint('done', flush=True)\n"
                "sys.stdin.readline()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
memflame = Memflame("alloc", "--above", "300M", "--owner", "nobody", "--languages", "off", wait=True)


def says(word):
    grower.stdin.write("\n")
    grower.stdin.flush()
    equal("the program's word", grower.stdout.readline(), word + "\n")


time.sleep(1)
says("grown")
time.sleep(SCAN)
says("done")
memflame.stop()
live = memflame.profile().sum("live")
check(10_000_000 <= live <= 11_500_000, f"only what came after it had grown is counted: {live}")
equal("watched", memflame.summary()["pids"], [grower.pid])

# Pages: the first event of a process that came late has only its own pages.
target = Target("fault_truth")
memflame = Memflame("fault", "--program", example("fault_truth"))
target.work()
memflame.stop()
resident = 4096 * memflame.profile().sum("gained")
check(0 < resident < (200 << 20), f"pages that were there before are not counted: {resident}")

words = run("alloc", "--program", "x", "-p", os.getpid(), status=2).stderr
check("--program, --owner and --above choose among processes that run" in words, words)
words = run("alloc", "--owner", "no_such_user", "-o", path("x.json"), status=1).stderr
check("--owner no_such_user: there is no such user" in words, words)
