// SPDX-License-Identifier: BSD-2-Clause
// The name of code without a symbol: "[libfoo.so+0x1a2b]".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memflame {

// `module`: a path, or a name in brackets. `where`: an address in the module.
std::string unnamed_code(std::string_view module, uint64_t where);

// The address in such a name; nothing if it does not name code in this module.
std::optional<uint64_t> where_unnamed(std::string_view name, std::string_view module);

}  // namespace memflame
