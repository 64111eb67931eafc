// SPDX-License-Identifier: BSD-2-Clause
// Verdicts on stacks of names. Tracks whose stacks have the same functions in the same files of
// code are judged as one: those of several processes, and those that differ by lines only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collapse/verdicts/ledger.h"
#include "core/leak_check.h"
#include "core/profile.h"
#include "core/reach.h"

namespace memflame {

struct NamedVerdict {
  Verdict verdict;
  std::string process;            // of the first track
  std::vector<LeakFrame> frames;  // innermost first, of the first track
  size_t caller = 0;              // the first frame that belongs to no allocator
  size_t tracks = 1;
  std::optional<ReachSums> reach{};  // if the run was scanned
  std::string key;                   // the names that tell it from others, also in another run
};

// The names of a stack, without a verdict.
NamedVerdict named_stack(const Profile& profile, StackId stack);

// The most wrong first. The recording has names, and the stacks of the tracks. Blocks whose stack
// is cut are added to `losses`. `reach`: of each track by its index; empty if nothing was scanned.
// Cost: one fold of all stacks, and a verdict for each.
std::vector<NamedVerdict> named_verdicts(const Ledger& ledger, std::span<const Track> tracks,
                                         Recording recording, const VerdictOptions& options,
                                         Losses& losses, std::span<const ReachSums> reach = {});

}  // namespace memflame
