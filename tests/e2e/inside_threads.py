# SPDX-License-Identifier: BSD-2-Clause
"""alloc --inside: thousands of threads at once are counted to the byte, with deep stacks too. Where a limit of address
space leaves fewer of them, the program works, and what they did is counted under its cause."""
import os
import subprocess

from lib import Memflame, check, equal, example, losses


def watch(*command, **options):
    memflame = Memflame("alloc", "--inside", "--", *map(str, command), stdout=subprocess.PIPE, text=True,
                        **options)
    kept = int(memflame.process.communicate()[0])
    memflame.wait()
    return kept, memflame.profile(), memflame.summary()


def exact(count, processes):
    kept, profile, summary = watch(example("many_threads"), count, processes)
    check(not losses(summary), f"something was lost: {losses(summary)}")
    check(not losses(summary, "cut"), f"stacks were cut: {losses(summary, 'cut')}")
    equal("what the threads keep", profile.sum("live", "keep_block"), kept)
    # The deep one: each of its frames is there.
    equal("deep stacks", profile.sum("live-count", "keep_deep"), count * processes)
    deepest = max(sum(frame == "keep_deep" for frame in frames) for frames, _ in profile.stacks)
    equal("frames", deepest, 301)


exact(1500, 1)
exact(700, 3)

# As many rings as there were before, for a process that may not have much address space.
kept, profile, summary = watch("bash", "-c", 'ulimit -v 4000000; exec "$0" 1100', example("many_threads"),
                               env={**os.environ, "MALLOC_ARENA_MAX": "2"})
lost = losses(summary)
equal("what was lost", set(lost), {"agent_no_ring"})
check(profile.sum("live", "keep_block") < kept, "each thread had a ring")
check(profile.sum("live", "keep_block") + lost["agent_no_ring"]["bytes"] >= kept, f"more is missing: {lost}")
