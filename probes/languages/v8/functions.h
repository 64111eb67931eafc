// SPDX-License-Identifier: BSD-2-Clause
// What V8 knows of a function, read here as programs do it (frames.bpf.h).
#pragma once

#include <cstdint>
#include <optional>

#include "probes/languages/v8/memory.h"

namespace memflame {

// Its name, its script and its first line. False if they cannot be read.
bool read_v8_function(const V8Memory& memory, uint64_t info, bpf::script_code_record& record);
// Where it begins in its script.
std::optional<uint32_t> v8_start(const V8Memory& memory, uint64_t info);
// How many lines end in the source of its script between two places.
std::optional<uint32_t> v8_lines_between(const V8Memory& memory, uint64_t info, uint32_t from,
                                         uint32_t to);

}  // namespace memflame
