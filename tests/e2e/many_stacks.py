# SPDX-License-Identifier: BSD-2-Clause
"""Twenty thousand call stacks stay distinct, and losses to a full stack table are counted."""
from lib import check, consistent, equal, lossless, observe

STACKS = 20000

profile, summary, truth = observe("alloc", "many_stacks", arguments=[str(STACKS)])
profile.compare(truth["functions"])
lossless(profile, summary)
leaves = [frames for frames, _ in profile.stacks if "reach_leaf" in frames]
equal("stacks", len({tuple(frames) for frames in leaves}), STACKS)

profile, summary, truth = observe("alloc", "many_stacks", "--max-stacks", 1000,
                                  arguments=[str(STACKS)])
consistent(profile, summary)
lost = summary["losses"]["stack_table_full"]
check(lost["events"] >= STACKS - 1000, f"stacks without room: {lost}")
equal("bytes shown as lost", profile.sum("total", "[lost: stack table full]"), lost["bytes"])
equal("bytes in all", profile.sum("total"), STACKS * 16)
