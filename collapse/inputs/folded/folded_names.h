// SPDX-License-Identifier: BSD-2-Clause
// Where the names in the stack of a folded line end.
#pragma once

#include <cstddef>
#include <string_view>

namespace memflame {

// The number of leading bytes that two texts share.
size_t common_prefix(std::string_view a, std::string_view b);

// Whether " 32]" follows a semicolon. Rust writes the length of an array like that.
bool length_follows(std::string_view stack, size_t semicolon);

// Where the name that begins at `begin` ends: "f<[u8; 32]>" is one name.
size_t name_end(std::string_view stack, size_t begin);

// Whether a stack may follow another one in the order of names: what it does not share is new.
bool follows_in_order(std::string_view before, std::string_view stack);

}  // namespace memflame
