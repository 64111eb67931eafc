# SPDX-License-Identifier: BSD-2-Clause
"""A stack that cannot be followed to its end is marked and counted, and has no wrong frame."""
from chains import Chains, compare, complete, plain
from lib import check, equal, lossless, observe

ROUNDS = 30

# A stack deeper than the limit keeps its innermost frames; a stack as deep as the limit is not cut.
for depth in (64, 512):
    profile, summary, truth = observe("alloc", "no_frame_pointer", "--max-depth", depth,
                                      arguments=("alloc", str(ROUNDS)))
    lossless(profile, summary)
    cut = {"chain::bottom_of_900()"} | ({"chain::bottom_of_300()"} if depth < 300 else set())
    stops = summary["stacks"]["stops"]
    equal(f"too deep with a limit of {depth}", stops["too_deep"], len(cut) * ROUNDS)
    too_deep = summary["losses"]["truncated_too_deep"]
    equal("counted as events", too_deep["events"], len(cut) * ROUNDS)
    equal("and no other cut", (summary["cut_events"], summary["cut_bytes"]),
          (too_deep["events"], too_deep["bytes"]))
    equal("complete ones", stops["complete"], summary["stacks"]["captured"] - len(cut) * ROUNDS)
    for frames, values in profile.stacks:
        leaf, _ = Chains(truth).split(frames)
        equal(f"marked: {frames}", frames[1] == "[truncated: too deep]", leaf in cut)
        if leaf in cut:
            equal(f"frames of {leaf}", len(frames) - 2, depth)
            equal(f"calls of {leaf}", values[profile.columns.index("total-count")], ROUNDS)
profile, summary, truth = observe("alloc", "no_frame_pointer", "--max-depth", 1000,
                                  arguments=("alloc", str(ROUNDS)))
complete(summary)
compare(profile, truth, "alloc")

# Below a function without unwind information and frame pointer.
for probe in ("alloc", "brk", "mmap", "fault"):
    profile, summary, truth = observe(probe, "no_frame_pointer", arguments=(probe, "10", "gap"))
    stops = summary["stacks"]["stops"]
    found = 0
    for frames, _ in profile.stacks:
        names = [plain(name) for name in frames]
        if "chain::under_gap()" not in names:
            continue
        found += 1
        outer = [name for name in names[:names.index("chain::under_gap()")]
                 if not name.startswith("[")][1:]
        check(any(name.startswith("[truncated: ") for name in names), f"{names} is not marked")
        equal(f"callers of under_gap with {probe}", outer, ["by_hand_without_anything"])
    check(found, f"no stack of {probe} from under the gap")
    check(sum(stops.values()) - stops["complete"] > 0, f"nothing is counted as cut: {stops}")
