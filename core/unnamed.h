// SPDX-License-Identifier: BSD-2-Clause
// What code without a symbol is called: "[libfoo.so+0x1a2b]".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memflame {

// `module`: a path, or a name in brackets. `where`: an address in its terms.
std::string unnamed_code(std::string_view module, uint64_t where);

// The address that such a name tells; nothing if it is not a name of code in this module.
std::optional<uint64_t> where_unnamed(std::string_view name, std::string_view module);

}  // namespace memflame
