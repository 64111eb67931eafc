// SPDX-License-Identifier: BSD-2-Clause
// Owners of SQLite's objects.
#pragma once

#include <sqlite3.h>

#include <memory>

namespace memflame {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using DatabaseHandle = std::unique_ptr<sqlite3, CloseDatabase>;

struct EndStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementHandle = std::unique_ptr<sqlite3_stmt, EndStatement>;

}  // namespace memflame
