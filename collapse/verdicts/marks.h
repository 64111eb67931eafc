// SPDX-License-Identifier: BSD-2-Clause
// Verdicts on the stacks of a profile. Tracks whose stacks read the same are judged as one, so a
// function that leaks in several processes has one verdict. Cost: a look-up for each sum, and a
// verdict for each of the largest stacks.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "collapse/history/views.h"
#include "collapse/verdicts/ledger.h"
#include "core/history.h"
#include "core/profile.h"

namespace memflame {

// What a ledger knows, with the tables that its tracks refer to.
struct JudgedRun {
  Ledger ledger;
  std::vector<Track> tracks;
  std::vector<RawStack> stacks;
};

// Judges a history as of the end of the time that is looked at, by its looks, tracks and columns.
// `stacks` are those of its recording. None if it does not say when blocks were allocated.
std::optional<JudgedRun> judged_run(const History& history, const std::vector<RawStack>& stacks,
                                    const HistoryRange& range);

// `profile` is fold()ed from `recording`, and `stack_of_sum` is what fold() says of its sums. The
// recording may number its stacks in its own way, but not its spaces. At most max_marks, of stacks
// with a value in the profile: first the leaks to be drawn, the most wrong first; then the others,
// the largest first.
//
// At most 10 leaks are drawn. Those whose blocks come from all parts of the run are; if there are
// none, also what ended processes have left of blocks that are mostly freed. Programs do not free
// everything when they end, so the rest of what they left is only named.
std::vector<StackMark> marks_of(const JudgedRun& run, const Recording& recording,
                                const Profile& profile, std::span<const StackId> stack_of_sum);

}  // namespace memflame
