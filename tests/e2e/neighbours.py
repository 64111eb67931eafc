# SPDX-License-Identifier: BSD-2-Clause
"""Thousands of programs that begin beside the watched one cost it no record."""
from lib import Memflame, check, equal, example, lossless, spawn


def processes():
    """How many there were since the machine started."""
    with open("/proc/stat", encoding="ascii") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("processes "))


crowd = [spawn(["sh", "-c", "while :; do /bin/true; done"]) for _ in range(8)]
before = processes()
memflame = Memflame("alloc", "--", example("short_lived")).wait()
check(processes() - before > 2000, "there are thousands of programs")
for shell in crowd:
    shell.kill()
profile = memflame.profile()
equal("its block", profile.sum("live", "short_lived", "allocate_and_vanish"), 123456)
lossless(profile, memflame.summary())
