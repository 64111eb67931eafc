# SPDX-License-Identifier: BSD-2-Clause
"""memflame kernel while every CPU allocates as fast as it can."""
import os
import select
import socket
import subprocess
import sys
import time

from kernel_memory import values
from lib import PATIENCE, Memflame, check, consistent, equal, spawn


def busy():
    """Allocates in tasks and in interrupts until it is stopped."""
    print("done", flush=True)
    there, back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    back.bind(("127.0.0.1", 0))
    while not select.select([sys.stdin], [], [], 0)[0]:
        fds = [os.eventfd(0) for _ in range(100)]
        for _ in range(100):
            there.sendto(b"x" * 1000, back.getsockname())
            back.recv(2000)
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        for fd in fds:
            os.close(fd)


def storm():
    """Every CPU allocates as fast as it can: nothing hangs, and no block is freed twice."""
    for kind in ("slab", "all"):
        memflame = Memflame("kernel", "--kind", kind)
        workers = [spawn([sys.executable, __file__, "busy"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True) for _ in range(2 * os.cpu_count())]
        for worker in workers:
            equal("the worker's answer", worker.stdout.readline(), "done\n")
        time.sleep(5)
        for worker in workers:
            worker.communicate("\n", timeout=PATIENCE)
        memflame.stop()
        profile, summary = memflame.profile(), memflame.summary()
        consistent(profile, summary)
        check(summary["events"] > 10000, f"there was a storm: {summary['events']}")
        for column in ("live", "live-count"):
            index = profile.columns.index(column)
            negative = [frames for frames, row in profile.stacks if row[index] < 0]
            check(not negative, f"more freed than allocated: {negative[:3]}")
        skipped = summary["losses"]["probe_recursion"]["events"]
        check(skipped * 200 < summary["events"], f"few are skipped: {skipped}")
        left = values(profile, "live-count", "do_eventfd", r"\[slab filp.*\]")
        check(left <= skipped + 200, f"files left, all of them closed: {left}")


if __name__ == "__main__":
    if sys.argv[1:] == ["busy"]:
        busy()
    else:
        storm()
