# SPDX-License-Identifier: BSD-2-Clause
"""alloc under heavy load: 8 threads free each other's blocks. Nothing stays live, nothing is lost.

$MEMFLAME_STORM_OPS is the number of allocations (default 300,000)."""
import os

from lib import SLOW, equal, lossless, observe

operations = os.environ.get("MEMFLAME_STORM_OPS", "30000" if SLOW else "300000")
profile, summary, truth = observe("alloc", "alloc_storm", arguments=["--operations", operations])
profile.compare(truth["functions"])
lossless(profile, summary)
equal("allocations", profile.sum("total-count"), int(operations))
equal("bytes", profile.sum("total"), truth["functions"]["storm_allocate"]["total"])
equal("live", (profile.sum("live"), profile.sum("live-count")), (0, 0))
equal("free misses", summary["losses"]["free_miss"]["events"], 0)
