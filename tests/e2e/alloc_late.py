# SPDX-License-Identifier: BSD-2-Clause
"""alloc: several threads load libraries during the run; one of the libraries is an allocator."""
from lib import SLOW, equal, lossless, observe

# Enough time to notice a new library.
profile, summary, truth = observe("alloc", "alloc_late", arguments=["3000" if SLOW else "300"])
profile.compare(truth["functions"])
equal("allocators that came late", summary["losses"]["late_attach"]["events"], 1)
# The run says that something may be lost.
summary["losses"]["late_attach"]["events"] = 0
summary["lost_events"] -= 1
lossless(profile, summary)
