// SPDX-License-Identifier: BSD-2-Clause
// What people read in place of a column's name: "live blocks" for `live-count`. Files and options
// keep the names.
#pragma once

#include <string>

#include "core/profile.h"

namespace memflame {

// Names without words of their own have blanks in place of "_".
std::string column_words(const ValueType& type);

}  // namespace memflame
