# SPDX-License-Identifier: BSD-2-Clause
"""alloc: functions that few C libraries have, and a program's own operator new."""
from lib import equal, lossless, observe

for program in ("sized_free", "own_new", "own_new_pool"):
    profile, summary, truth = observe("alloc", program)
    profile.compare(truth["functions"])
    lossless(profile, summary)
    equal(f"{program}: free misses", summary["losses"]["free_miss"]["events"], 0)
    for column in profile.columns:
        stated = sum(figures[column.replace("-", "_")] for figures in truth["functions"].values())
        equal(f"{program}: all of {column}", profile.sum(column), stated)
