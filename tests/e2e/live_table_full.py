# SPDX-License-Identifier: BSD-2-Clause
"""alloc with a live table of 100 entries: the shortfall is counted exactly, and shown."""
from lib import consistent, equal, losses, observe

BLOCKS, SIZE, ROOM = 5000, 16, 100

profile, summary, truth = observe("alloc", "many_stacks", "--max-live", ROOM,
                                  arguments=[str(BLOCKS)])
consistent(profile, summary)
lost = summary["losses"]["live_table_full"]
equal("lost", (lost["events"], lost["bytes"]), (BLOCKS - ROOM, (BLOCKS - ROOM) * SIZE))
equal("shown by name", profile.sum("live", "reach_leaf"), ROOM * SIZE)
equal("shown as lost", profile.sum("live", "[lost: live table full]"), (BLOCKS - ROOM) * SIZE)
equal("live in all", profile.sum("live"), BLOCKS * SIZE)
# The total allocated stays exact.
profile.compare(truth["functions"], columns=["total", "total-count"])
equal("all losses", list(losses(summary)), ["live_table_full"])
