# SPDX-License-Identifier: BSD-2-Clause
"""Heap profiles of gperftools' tcmalloc (HEAPPROFILE), against google-pprof."""

import glob

from . import _leaker as leaker

PACKAGES = ["google-perftools", "libgoogle-perftools4"]


def pprof_total(work, program, profile, kind):
    text, _ = work.run(["google-pprof", "--text", "--show_bytes", f"--{kind}", program, profile])
    return int(next(row for row in text.splitlines() if row.startswith("Total:")).split()[1])


def check(work):
    program = work.compile("leaker", leaker.SOURCE)
    work.run(["env", f"HEAPPROFILE={work.path('heap')}",
              f"LD_PRELOAD={leaker.library(work, 'libtcmalloc.so.4')}", program])
    profile = sorted(glob.glob(work.path("heap") + ".*.heap"))[-1]
    for kind in ("inuse_space", "alloc_space"):
        work.same(f"{kind}, total", work.total(profile, kind),
                  pprof_total(work, program, profile, kind))
    work.same("in use, keep_small", leaker.of_function(work, profile, "keep_small", "inuse_space"),
              leaker.KEPT_SMALL)
    work.same("in use, keep_large", leaker.of_function(work, profile, "keep_large", "inuse_space"),
              leaker.KEPT_LARGE)
    work.same("allocated, churn", leaker.of_function(work, profile, "churn", "alloc_space"),
              leaker.CHURNED)
