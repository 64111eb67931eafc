# SPDX-License-Identifier: BSD-2-Clause
"""alloc: libraries loaded while we watch, by one thread and another; an allocator among them."""
from lib import SLOW, equal, lossless, observe

# Time enough to see what is new.
profile, summary, truth = observe("alloc", "alloc_late", arguments=["3000" if SLOW else "300"])
profile.compare(truth["functions"])
equal("allocators that came late", summary["losses"]["late_attach"]["events"], 1)
# Which says that something may be lost.
summary["losses"]["late_attach"]["events"] = 0
summary["lost_events"] -= 1
lossless(profile, summary)
