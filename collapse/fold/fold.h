// SPDX-License-Identifier: BSD-2-Clause
// Recording -> Profile: addresses become frames, and stacks with the same frames become one. The
// frames of a location are interned once; after that each frame of a stack costs one look-up.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/profile.h"
#include "core/recording.h"

namespace memflame {

struct FoldOptions {
  bool pid = false;  // "redis-server (pid 812)": keeps processes of one name apart
  bool lines =
      false;  // source file and line are part of a frame: keeps calls from different lines apart
  // Frames keep their addresses in Profile::code, which keeps calls from different places apart.
  // Needs symbolize() to have filled Recording::code_of.
  bool code = false;
  // For recordings of other tools: the groups of the sums are the roots, processes get no frame of
  // their own, and stacks keep the tool's length even if a frame is in no known code.
  bool as_recorded = false;
  // `stack_of_sum` has none for sums whose values are all 0, and their cuts are not counted.
  bool only_values = false;
};

// Needs symbolize() to have run. The profile holds every value of recording.sums, so the totals of
// each column are equal. A cut stack gets a frame that says why it is cut, and is counted.
// `stack_of_sum` gets the stack of each of recording.sums, also of those whose values are all 0.
Profile fold(const Recording& recording, const FoldOptions& options,
             std::vector<StackId>* stack_of_sum = nullptr);

// The same with other sums than the recording's own.
Profile fold(const Recording& recording, std::span<const Aggregate> sums,
             const FoldOptions& options, std::vector<StackId>* stack_of_sum = nullptr);

// Why a stack ends before its first frame, as fold() marks and counts it; none if it is complete.
// Needs symbolize() to have run.
std::optional<Loss> why_cut(const Recording& recording, RawStackId stack);

}  // namespace memflame
