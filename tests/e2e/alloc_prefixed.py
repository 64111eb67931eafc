# SPDX-License-Identifier: BSD-2-Clause
"""alloc: several allocators with prefixed names in one process; each block counts once."""
import os

from lib import Memflame, Target, check, equal, lossless


def watch(program, **options):
    target = Target(program, **options)
    memflame = Memflame("alloc", "-p", target.pid)
    truth = target.work()
    memflame.stop()
    target.end()
    profile, summary = memflame.profile(), memflame.summary()
    profile.compare(truth["functions"])
    lossless(profile, summary)
    for column in profile.columns:
        stated = sum(figures[column.replace("-", "_")] for figures in truth["functions"].values())
        equal(f"{program}: all of {column}", profile.sum(column), stated)
    equal(f"{program}: free misses", summary["losses"]["free_miss"]["events"], 0)
    return profile


def kept_apart(profile, leaves):
    """The leaf function says which allocator a block belongs to."""
    for function, allocators in leaves.items():
        tops = {frames[-1] for frames, values in profile.stacks if function in frames}
        check(tops and all(any(top.startswith(name) for name in allocators) for top in tops),
              f"on top of {function}: {tops}, not one of {allocators}")


kept_apart(watch("prefixed"), {
    "je_uses_malloc": ["je_malloc"], "_rjem_uses_malloc": ["_rjem_malloc"],
    "je_uses_calloc": ["je_calloc"], "rjem_uses_flags": ["_rjem_mallocx", "_rjem_rallocx"],
    "libc_uses_malloc": ["malloc"]})
kept_apart(watch("prefixed_wrapped"), {
    "tc_uses_malloc": ["tc_malloc"], "tc_uses_calloc": ["tc_calloc"],
    "thin_wrapper": ["je_malloc", "je_realloc"], "libc_uses_malloc": ["malloc"]})
# Both libraries have a malloc, so the leaf names its file. libc has to come first: otherwise the other
# library's malloc would serve the whole process.
profile = watch("beside_libc", env=dict(os.environ, LD_PRELOAD="libc.so.6"))
kept_apart(profile, {"own_malloc": ["malloc [libc.so.6]"], "own_new": ["malloc [libc.so.6]"],
                     "other_malloc": ["malloc [libmimalloc.so."],
                     "other_realloc": ["realloc [libmimalloc.so."],
                     "other_zeroed": ["calloc [libmimalloc.so.", "mi_zalloc"]})
profile = watch("beside_libc")
check(profile.has("malloc"), "where there is one allocator, names stay as they are")
