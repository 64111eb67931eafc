# SPDX-License-Identifier: BSD-2-Clause
"""alloc --no-children: a child's blocks and frees are left out; the parent's stay exact."""
from lib import equal, lossless, observe

profile, summary, truth = observe("alloc", "alloc_truth", "--no-children")
profile.compare(truth["functions"])
lossless(profile, summary)
equal("the child is left out", profile.has("child_allocates"), False)
equal("free misses", summary["losses"]["free_miss"]["events"],
      truth["counters"]["free_miss"]["events"])
