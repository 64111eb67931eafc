// SPDX-License-Identifier: BSD-2-Clause
// Which parts of mappings stay visible when they are laid over each other.
#pragma once

#include <span>
#include <vector>

#include "core/recording.h"

namespace memflame {

// The visible parts, sorted by address. A mapping hides the ones after it in `newest_first`.
std::vector<Mapping> overlay(std::span<const Mapping* const> newest_first);

}  // namespace memflame
