// SPDX-License-Identifier: BSD-2-Clause
// The lines of a Ruby function, from what programs have read of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace memflame {

// A table for ruby_line() (core/ruby_lines.h). `instructions`: what places in stacks count from.
std::string ruby_lines(std::span<const uint8_t> read, uint32_t& instructions);

}  // namespace memflame
