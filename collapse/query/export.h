// SPDX-License-Identifier: BSD-2-Clause
// The tables of a recording as a database of SQLite.
#pragma once

#include <atomic>
#include <string>

#include "collapse/query/query_tables.h"

namespace memflame {

// Writes all tables that the recording has to an empty file; returns what was left out. The numbers
// of stacks, threads and processes are primary keys, and frames have an index by their stack.
// `name` is the file's, for messages. Throws Error, also if `stop` becomes true; the file is then
// of no use.
std::vector<std::string> export_tables(const QueryTables& tables, int fd, const std::string& name,
                                       const std::atomic<bool>& stop);

}  // namespace memflame
