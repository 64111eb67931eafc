// SPDX-License-Identifier: BSD-2-Clause
// QueryTables as virtual tables of SQLite (https://sqlite.org/vtab.html).
#pragma once

#include <sqlite3.h>

#include <exception>

#include "collapse/query/query_table.h"

namespace memflame {

// What the tables of a database share with it.
struct TableState {
  // Exceptions must not pass through SQLite: the last one is kept here, and the statement fails.
  std::exception_ptr failure;
  // A table tells SQLite its columns, with a statement that no authorizer may refuse.
  bool is_declaring = false;
};

struct VirtualTable {
  QueryTable& table;
  TableState& state;
};

// `table` outlives the database. Throws Error.
void add_virtual_table(sqlite3* database, VirtualTable& table);

}  // namespace memflame
