# SPDX-License-Identifier: BSD-2-Clause
"""alloc with a live table of 100 entries: the shortfall is counted exactly, and shown."""
from lib import Memflame, check, consistent, equal, example, losses, observe

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

# The same from inside, where blocks of the program's start are in the table too.
memflame = Memflame("alloc", "--inside", "--max-live", ROOM, "--", example("many_stacks"), BLOCKS).wait()
profile, summary = memflame.profile(), memflame.summary()
consistent(profile, summary)
lost = summary["losses"]["live_table_full"]
check(lost["events"] >= BLOCKS - ROOM, lost)
equal("shown as lost", [profile.sum(column, "[lost: live table full]") for column in profile.columns],
      [lost["bytes"], lost["events"], 0, 0])
equal("shown by name", profile.sum("live-count") - lost["events"], ROOM)
equal("total by name", profile.sum("total", "reach_leaf"), BLOCKS * SIZE)
equal("all losses", list(losses(summary)), ["live_table_full"])
