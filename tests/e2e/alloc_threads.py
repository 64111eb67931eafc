# SPDX-License-Identifier: BSD-2-Clause
"""alloc: threads side by side, threads that end, and blocks that outlive their thread.

$MEMFLAME_THREAD_ROUNDS is how many objects each of thirty threads makes (default 20,000; scripts/test full:
100,000)."""
import os

from lib import LONG, SLOW, lossless, observe

rounds = os.environ.get("MEMFLAME_THREAD_ROUNDS", "2000" if SLOW else "100000" if LONG else "20000")
profile, summary, truth = observe("alloc", "alloc_threads", arguments=[rounds])
profile.compare(truth["functions"])
lossless(profile, summary)
