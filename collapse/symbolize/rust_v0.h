// SPDX-License-Identifier: BSD-2-Clause
// The Rust v0 mangling (RFC 2603).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace memflame {

// "_RNvCs1234_7mycrate3foo" -> "mycrate::foo"; nothing if the name is not well formed, or if its
// plain form is longer than `max_size`. Crate hashes are left out.
std::optional<std::string> demangle_rust_v0(std::string_view name, size_t max_size);

}  // namespace memflame
