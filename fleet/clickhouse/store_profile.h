// SPDX-License-Identifier: BSD-2-Clause
// A profile of what the store has. The store adds up, so what comes back has a row for each stack,
// not for each sample.
#pragma once

#include <map>
#include <vector>

#include "core/profile.h"
#include "fleet/clickhouse/selection.h"

namespace memflame {

// Types that are a state (inuse_space) have what the last windows say; all others are sums over the
// windows. `code`: keep addresses.
Profile store_profile(const StoreQuestion& question, bool code);

// The stacks of these hashes, put into the profile. Those that the store lacks become a note
// "[a stack that is not in the store]".
std::map<uint64_t, StackId> store_stacks(const ClickHouse& store,
                                         const std::vector<uint64_t>& hashes, Profile& profile,
                                         bool code);

// Title, notes, sampling and losses, from what the windows say.
void describe(Profile& profile, const StoreSelection& selection);

}  // namespace memflame
