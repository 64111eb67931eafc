# SPDX-License-Identifier: BSD-2-Clause
"""alloc: every allocation function of every allocator, linked in every way, is exact to the byte.

Prints a table of allocators and ways of linking; a cell is the number of functions whose four figures
are exact, or what was wrong."""
import os
import sys

from lib import EXAMPLES, Memflame, Profile, Target, example, lossless

PRELOADED = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
             "tcmalloc_full": "libtcmalloc.so.4", "mimalloc": "libmimalloc.so"}
# mimalloc has no archive in Debian; libtcmalloc's cannot be linked with the compiler's unwinder; musl
# has no C++ library.
CELLS = [
    ("glibc", ("dynamic", "static")),
    ("musl", ("dynamic", "static")),
    ("jemalloc", ("dynamic", "preload", "archive", "static")),
    ("tcmalloc", ("dynamic", "preload", "archive", "static")),
    ("tcmalloc_full", ("dynamic", "preload")),
    ("mimalloc", ("dynamic", "preload")),
    ("bump", ("dynamic", "preload", "static")),
]
COLUMNS = ("dynamic", "preload", "archive", "static")


def library(allocator):
    """The name by which the dynamic linker finds it."""
    return example("libbump.so") if allocator == "bump" else PRELOADED[allocator]


def program(stem, allocator, way):
    return f"{stem}_{allocator}_{way}" if way != "preload" else f"{stem}_glibc_dynamic"


def environment(allocator, way):
    return {**os.environ, "LD_PRELOAD": library(allocator)} if way == "preload" else None


def missing(stem, allocator, way):
    if not os.path.exists(os.path.join(EXAMPLES, program(stem, allocator, way))):
        return f"{program(stem, allocator, way)} was not built"
    return ""


def is_used(pid, allocator, way):
    """Whether the process has really loaded a cell's library."""
    if way not in ("dynamic", "preload") or allocator in ("glibc", "musl"):
        return True
    name = os.path.basename(library(allocator))
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return any(name[:name.index(".so") + 3] in line for line in maps)


def watch(allocator, way):
    target = Target(program("allocator_matrix", allocator, way),
                    env=environment(allocator, way))
    if not is_used(target.pid, allocator, way):
        return f"{library(allocator)} is not used: is it installed?", 0
    memflame = Memflame("alloc", "-p", target.pid)
    truth = target.work()
    memflame.stop()
    target.end()
    profile, summary = memflame.profile(), memflame.summary()
    functions = truth["functions"]
    try:
        profile.compare(functions)
        lossless(profile, summary)
        strays = strange(profile, functions)
    except SystemExit as failure:
        lines = str(failure).split("\n")
        return "\n".join(lines[:9] + [f"  … {len(lines) - 9} more"] * (len(lines) > 9)), 0
    if summary["losses"]["free_miss"]["events"]:
        return f"free misses: {summary['losses']['free_miss']['events']}", 0
    return strays, len(functions)


def strange(profile: Profile, functions):
    """Nothing else in the program allocates."""
    for column in profile.columns:
        stated = sum(figures[column.replace("-", "_")] for figures in functions.values())
        if profile.sum(column) != stated:
            others = [(frames, values) for frames, values in profile.stacks
                      if not set(frames) & set(functions)]
            return f"{column}: {profile.sum(column)}, stated {stated}; others {others[:3]}"
    return ""


def main():
    failures, table = [], []
    for allocator, ways in CELLS:
        row = dict.fromkeys(COLUMNS, "-")
        for way in ways:
            wrong, functions = missing("allocator_matrix", allocator, way), 0
            if not wrong:
                wrong, functions = watch(allocator, way)
            row[way] = "FAILED" if wrong else f"{functions} exact"
            if wrong:
                failures.append(f"{allocator}, {way}: {wrong}")
        table.append((allocator, row))
    print(f"{'':14}" + "".join(f"{column:>10}" for column in COLUMNS))
    for allocator, row in table:
        print(f"{allocator:14}" + "".join(f"{row[column]:>10}" for column in COLUMNS))
    if failures:
        sys.exit("\n".join(["FAILED cells:", *failures]))


if __name__ == "__main__":
    main()
