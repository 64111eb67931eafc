// SPDX-License-Identifier: BSD-2-Clause
// What a statement may use of SQLite. Libraries of SQLite have functions and tables that show or
// change the process itself (fts3_tokenizer, dbstat, extensions), and versions to come may have
// more, so the list is of what may be used.
#pragma once

#include <string_view>

namespace memflame {

// Names are in SQLite's own spelling, which is in lower case.
bool is_allowed_function(std::string_view name);

// Tables of SQLite itself, beside those of the recording.
bool is_allowed_table(std::string_view name);

}  // namespace memflame
