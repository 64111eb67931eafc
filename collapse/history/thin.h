// SPDX-License-Identifier: BSD-2-Clause
// Makes a long run smaller: older looks are halved, again and again, so the past is coarser the
// older it is. Figures are absolute, so a look that is dropped leaves its rows to the next one, and
// totals stay exact. Surveys are halved by themselves: every second one becomes a look without a
// survey, and those that stay keep their looks.
#pragma once

#include <optional>

#include "core/history.h"

namespace memflame {

// Looks are given in order.
class LookThinner {
 public:
  // None if the look is dropped. A look that is not old is kept; the last one must not be old.
  std::optional<Look> add(Look look, bool is_old);

 private:
  std::optional<Look> dropped_;
  bool drop_next_ = true, strip_next_ = true;
};

}  // namespace memflame
