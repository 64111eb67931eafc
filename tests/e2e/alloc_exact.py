# SPDX-License-Identifier: BSD-2-Clause
"""alloc: every function of the ground truth is exact to the byte in all four columns, and children have
their own figures."""
from lib import equal, lossless, observe


def watch(program):
    profile, summary, truth = observe("alloc", program)
    equal("columns", profile.columns, ["live", "live-count", "total", "total-count"])
    equal("shown", profile.shown, "live")
    profile.compare(truth["functions"])
    # Called through libstdc++, which keeps no frame pointers.
    profile.compare(truth["frameless"])
    profile.compare(truth["child"])
    lossless(profile, summary)
    # The child also frees its copy of a block; memflame may know that block or not.
    misses = summary["losses"]["free_miss"]["events"]
    known = truth["counters"]["free_miss"]["events"]
    equal("free misses", misses in (known, known + 1), True)
    # Nothing else in the program allocates.
    for column in profile.columns:
        stated = sum(figures[column.replace("-", "_")] for section in ("functions", "frameless", "child")
                     for figures in truth[section].values())
        equal(f"all of {column}", profile.sum(column), stated)
    equal("roots", {root.split()[0] for root in profile.roots}, {program[:15]})


if __name__ == "__main__":
    watch("alloc_truth")
