# SPDX-License-Identifier: BSD-2-Clause
"""What cases about recordings share: moments of a run that is still recorded."""
import os

from lib import Profile, path, run, wait_until


def wait_for_looks(recording):
    """Until a look has begun and is written: what is written at first may be of the look before, then of a mark."""
    for _ in range(3):
        size = os.path.getsize(recording)
        wait_until(lambda: os.path.getsize(recording) > size, "another look")


def mark(memflame, name):
    """Marks this moment, and returns its second."""
    said = run("control", memflame.process.pid, "mark", name).stdout
    return float(said.split()[-2])


def drawn(recording, *options):
    """A recording as render draws it."""
    run("render", recording, *options, "--format", "json", "-o", path("drawn.json"))
    return Profile(path("drawn.json"))


def at(recording, seconds):
    return drawn(recording, "--at", f"{seconds + 0.001:.3f}")
