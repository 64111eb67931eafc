// SPDX-License-Identifier: BSD-2-Clause
// memflame leaks clickhouse://… --fail-on: whether a service of a store may pass. A store knows how
// much each stack holds over time, by host, and no single block, so some words mean less there than
// in a run, and some nothing.
#pragma once

#include <functional>
#include <string>

#include "collapse/verdicts/gate.h"
#include "core/leak_check.h"
#include "fleet/clickhouse/store_leaks.h"

namespace memflame {

// The words of --fail-on that a store can answer, with what they mean there: "leak (grows steadily
// …), linear (…)".
std::string store_words();

// Throws Error(usage) for options and words that have no meaning for a store. `given`: whether an
// option was typed.
void refuse_for_store(const std::function<bool(const char* option)>& given);
void refuse_for_store(const GateOptions& options);

// As check_leaks() is for a run. A stack is a case in each version.
LeakCheck check_store(const StoreLeaks& leaks, const GateOptions& options,
                      Suppressions& suppressions);

}  // namespace memflame
