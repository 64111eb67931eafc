# SPDX-License-Identifier: BSD-2-Clause
"""Heap profiles of jemalloc, with every allocation counted and with one in 64 KiB."""

import glob

from . import _leaker as leaker

PACKAGES = ["libjemalloc2"]


def profile(work, program, library, name, sample):
    setting = (f"prof:true,prof_final:true,prof_accum:true,lg_prof_sample:{sample},"
               f"prof_prefix:{work.path(name)}")
    _, said = work.run(["env", f"MALLOC_CONF={setting}", f"LD_PRELOAD={library}", program])
    found = glob.glob(work.path(name) + ".*.f.heap")
    if not found:
        work.skip(f"no profile was written: {said.strip() or 'built without --enable-prof'}")
        return None
    return found[0]


def check(work):
    library = leaker.library(work, "libjemalloc.so.2")
    program = work.compile("leaker", leaker.SOURCE)
    every = profile(work, program, library, "every", 0)
    if every is None:
        return
    # jemalloc counts what it gives: 10,000 bytes are a block of 10,240, 3,000 one of 3,072.
    work.same("in use, keep_small", leaker.of_function(work, every, "keep_small", "inuse_space"),
              leaker.KEPT_SMALL)
    work.same("in use, keep_large", leaker.of_function(work, every, "keep_large", "inuse_space"),
              leaker.KEPT_LARGE, within=2100 * 240)
    work.same("allocated, churn", leaker.of_function(work, every, "churn", "alloc_space"),
              leaker.CHURNED, within=15000 * 72)
    sampled = profile(work, program, library, "sampled", 16)
    # One standard error of the larger is about 64 KiB * sqrt(34 MB / 64 KiB).
    work.same("sampled, in use (5 errors)", work.total(sampled, "inuse_space"),
              leaker.KEPT_SMALL + leaker.KEPT_LARGE, within=5 * 1500000)
    rows, _ = work.run(["jeprof", "--version"], check=False)
    if "jeprof" not in rows:
        return work.skip("jeprof (libjemalloc-dev) is not installed")
    text, _ = work.run(["jeprof", "--text", "--show_bytes", "--inuse_space", program, sampled])
    total = next(line for line in text.splitlines() if line.startswith("Total:"))
    work.same("sampled, jeprof's total", work.total(sampled, "inuse_space"),
              int(total.split()[1]), within=50)
