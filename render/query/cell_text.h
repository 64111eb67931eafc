// SPDX-License-Identifier: BSD-2-Clause
// Cells as text.
#pragma once

#include <string>

#include "core/query_rows.h"

namespace memflame {

// All digits of a number; a text as it is; `null` for NULL. A real number always has a point or an
// exponent, as in SQL.
std::string cell_text(const QueryValue& value, const std::string& null);

inline bool is_number(const QueryValue& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
}

}  // namespace memflame
