# SPDX-License-Identifier: BSD-2-Clause
"""alloc --sample and --every: right on average, as far off as predicted, and nothing left when all is
freed.

$MEMFLAME_SAMPLING_RUNS runs of each rate (default 4, 15 in scripts/test full); with 100 runs and 512 KiB the mean is
within 1 % as well."""
import os

from lib import LONG, SLOW, observe
from sampling_lib import check_nothing_left, check_rate, poisson

RUNS = int(os.environ.get("MEMFLAME_SAMPLING_RUNS", "15" if LONG and not SLOW else "4"))


def watch(*options):
    return observe("alloc", "alloc_sampled", *options)


def one_in(number):
    return lambda size: 1 / number


check_rate(watch, ("--sample", "524288"), poisson(524288), RUNS)
check_rate(watch, ("--sample", "65536"), poisson(65536), RUNS)
check_rate(watch, ("--every", "13"), one_in(13), RUNS)
for rate in (("--sample", "524288"), ("--sample", "4096"), ("--every", "7"), ("--every", "1")):
    check_nothing_left(rate, *observe("alloc", "alloc_sampled", *rate, arguments=["all"])[:2])
