# SPDX-License-Identifier: BSD-2-Clause
"""Threads, fork, vfork, exec and clone: stacks are exact in each process."""
from chains import compare, complete
from lib import SLOW, equal, lossless, observe


def at_birth(frames):
    """A new child inside clone(): glibc describes no frame there, and there is no caller."""
    return frames[-1] in ("clone", "__clone") and frames[1].startswith("[truncated: ")


for probe in ("alloc", "mmap", "brk", "fault"):
    profile, summary, truth = observe(probe, "life", arguments=(probe, "20"))
    # A child takes two faults as it starts; on the older kernel's guest it takes few others.
    complete(summary, least=(0.98 if SLOW else 0.99) if probe == "fault" else 1)
    lossless(profile, summary)
    for frames, _ in profile.stacks:
        if at_birth(frames):
            equal("callers of clone() in a child", frames[2:-1], [])
    profile.stacks = [stack for stack in profile.stacks if not at_birth(stack[0])]
    compare(profile, truth, probe, others=probe != "alloc", at_least=probe == "fault")
