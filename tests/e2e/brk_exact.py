# SPDX-License-Identifier: BSD-2-Clause
"""brk: every function is exact to the byte, and the total is the change of [heap]."""
from lib import equal, lossless, observe
from proc import heap_bytes

heap = []
profile, summary, truth = observe("brk", "brk_truth", before=lambda pid: heap.append(heap_bytes(pid)),
                                  after=lambda pid: heap.append(heap_bytes(pid)))
equal("columns", profile.columns, ["grown", "outstanding", "calls"])
equal("shown", profile.shown, "grown")
profile.compare(truth["functions"])
profile.compare(truth["frameless"])  # behind sbrk(), which keeps no frame pointer
lossless(profile, summary)

change = heap[1] - heap[0]
equal("the change of [heap]", change, truth["process"]["heap"]["grown"])
equal("all that grew", profile.sum("grown"), change)
equal("all that is outstanding", profile.sum("outstanding"), change)
statement = next(s for s in summary["reconciliation"] if "heap" in s["name"])
equal("reconciliation", (statement["captured"], statement["os"]), (change, change))
