# SPDX-License-Identifier: BSD-2-Clause
"""alloc: the USDT pair otel_memory:alloc and :free is used where a program offers it."""
from lib import check, equal, lossless, observe

profile, summary, truth = observe("alloc", "usdt_truth")
profile.compare(truth["functions"])
lossless(profile, summary)
equal("free misses", summary["losses"]["free_miss"]["events"],
      truth["counters"]["free_miss"]["events"])
for column in profile.columns:
    stated = sum(each[column.replace("-", "_")] for each in truth["functions"].values())
    equal(f"all of {column}", profile.sum(column), stated)
check(profile.sum("live", "sampled") == 1000, "weights stand for what was not reported")
