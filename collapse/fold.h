// SPDX-License-Identifier: BSD-2-Clause
// Recording -> Profile: addresses become frames, stacks that read the same become one.
#pragma once

#include <optional>

#include "core/profile.h"
#include "core/recording.h"

namespace memflame {

struct FoldOptions {
  bool pid = false;  // "redis-server (pid 812)": processes of one name stay apart
  bool lines =
      false;  // source file and line are part of a frame: calls from different lines stay apart
  // Frames keep their addresses in Profile::code: calls from different places stay apart. Needs
  // symbolize() to have filled Recording::code_of.
  bool code = false;
  // Recordings of other tools: the groups of the sums are the roots, processes get no frame of
  // their own, and stacks are as long as the tool says even where a frame is in no known code.
  bool as_recorded = false;
};

// Needs symbolize() to have run. Every value of recording.sums is in the profile, so the totals of
// each column are equal; what is wrong with a stack is said by a frame of its own and counted.
Profile fold(const Recording& recording, const FoldOptions& options);

// Why a stack ends before its first frame, as fold() marks and counts it; none when it does not.
// Needs symbolize() to have run.
std::optional<Loss> why_cut(const Recording& recording, RawStackId stack);

}  // namespace memflame
