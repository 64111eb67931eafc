// SPDX-License-Identifier: BSD-2-Clause
// Names as people write them.
#pragma once

#include <string>
#include <string_view>

namespace memflame {

// Demangles C++ (Itanium ABI) and Rust (legacy and v0) names, without the hash that Rust appends.
// Anything else, and whatever cannot be demangled within bounds, is returned unchanged: symbol
// names come from the watched program, and a few hundred bytes can stand for gigabytes.
std::string demangle(std::string_view name);

}  // namespace memflame
