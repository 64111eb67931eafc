// SPDX-License-Identifier: BSD-2-Clause
// Mappings that are laid over each other.
#pragma once

#include <span>
#include <vector>

#include "core/recording.h"

namespace memflame {

// What remains visible of them, the newest first: sorted by address.
std::vector<Mapping> overlay(std::span<const Mapping* const> newest_first);

}  // namespace memflame
