// SPDX-License-Identifier: BSD-2-Clause
// Names in bytewise order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace memflame {

// The indices of the names, smallest first; equal ones in any order. The idea: names are sorted by
// keys of 7 bytes in a number, and those with equal keys by their next 7 bytes. That is fast for
// millions of names with a common beginning, unlike pairwise comparison.
std::vector<uint32_t> name_order(std::span<const std::string_view> names);

}  // namespace memflame
