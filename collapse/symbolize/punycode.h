// SPDX-License-Identifier: BSD-2-Clause
// Punycode (RFC 3492): how Rust writes identifiers that are not ASCII.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace memflame {

// UTF-8 for `text`, whose plain characters stand before the last `delimiter`; nothing if it is not
// well formed.
std::optional<std::string> from_punycode(std::string_view text, char delimiter);

}  // namespace memflame
