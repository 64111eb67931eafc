# SPDX-License-Identifier: BSD-2-Clause
"""Thousands of programs that begin beside the watched one cost it no record."""
from lib import Memflame, equal, example, lossless, spawn

crowd = [spawn(["sh", "-c", "while :; do /bin/true; done"]) for _ in range(16)]
memflame = Memflame("alloc", "--", example("short_lived")).wait()
for shell in crowd:
    shell.kill()
profile = memflame.profile()
equal("its block", profile.sum("live", "short_lived", "allocate_and_vanish"), 123456)
lossless(profile, memflame.summary())
