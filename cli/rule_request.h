// SPDX-License-Identifier: BSD-2-Clause
// The arguments of a rule of `memflame watch`, read as those of record are.
#pragma once

#include "cli/watch/rule_run.h"

namespace memflame {

// Throws Error if they are wrong. Attaches nothing.
RuleRequest request_of_rule(const WatchRule& rule);
void check_rule(const WatchRule& rule);

}  // namespace memflame
