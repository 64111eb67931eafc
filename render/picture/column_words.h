// SPDX-License-Identifier: BSD-2-Clause
// What people read in place of a column's name.
#pragma once

#include <string_view>

namespace memflame {

// "leaked with suppressed ones" for "leaked_all". A name that is not in the table, such as one that
// a user chose, stays as it is.
std::string_view column_words(std::string_view name);

}  // namespace memflame
