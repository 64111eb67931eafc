"""alloc: allocators under other names, several in one process, each block counted once."""
from lib import check, equal, lossless, observe


def watch(program):
    profile, summary, truth = observe("alloc", program)
    profile.compare(truth["functions"])
    lossless(profile, summary)
    for column in profile.columns:
        stated = sum(figures[column.replace("-", "_")] for figures in truth["functions"].values())
        equal(f"{program}: all of {column}", profile.sum(column), stated)
    equal(f"{program}: free misses", summary["losses"]["free_miss"]["events"], 0)
    return profile


def kept_apart(profile, leaves):
    """The function on top of a stack says whose block it is."""
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
profile = watch("beside_libc")
kept_apart(profile, {"own_malloc": ["malloc"]})
for other in ("other_malloc", "other_zeroed", "other_realloc"):
    tops = {frames[-1] for frames, _ in profile.stacks if other in frames}
    check(tops and not tops & {"malloc", "calloc", "realloc"},
          f"{other} is told apart from libc's: {tops}")
