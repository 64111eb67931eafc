// SPDX-License-Identifier: BSD-2-Clause
// Which stacks and threads a condition is true of: worked out once each, not once per block. Sets
// are by the ids' index; "none" (0) is never in one.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "collapse/select/groups.h"
#include "collapse/select/number_ranges.h"
#include "collapse/select/query.h"

namespace memflame {

using IdSet = std::vector<bool>;

// Whether a name equals the node's text, or its regular expression matches a part of it.
std::function<bool(std::string_view)> name_matcher(const Clause& node);

// Those with a frame whose function, source file or module matches. Frames that are not code, like
// "[slab dentry]", count as functions. Needs symbolize() to have run.
IdSet stacks_with_name(const Recording& recording, const Clause& node);
IdSet stacks_of_processes(const Recording& recording, const Clause& node);
// By the number of addresses: inlined functions do not count.
IdSet stacks_of_depth(const Recording& recording, NumberRange depth);
// `interval` counts unless the property is a share.
IdSet stacks_of_groups(std::span<const StackGroup> groups, const Clause& node,
                       NumberRange interval);
IdSet threads_of(std::span<const Thread> threads, const Clause& node);

}  // namespace memflame
