// SPDX-License-Identifier: BSD-2-Clause
// Tables that SQL statements can read. Nothing can be written, and no other file can be opened.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "collapse/query/query_tables.h"
#include "core/query_rows.h"

namespace memflame {

class QueryDatabase {
 public:
  // Both outlive this object. Statements end with an Error when `stop` becomes true.
  QueryDatabase(const QueryTables& tables, const std::atomic<bool>& stop);
  ~QueryDatabase();

  // One statement that reads. The result is valid as long as this object. Throws Error (usage),
  // with SQLite's words and the place, if it is wrong, does not only read, or asks for a table that
  // the recording lacks. Sorting may take room in a temporary file (SQLITE_TMPDIR, TMPDIR).
  QueryResult run(const std::string& sql);

 private:
  class State;
  class Rows;
  std::unique_ptr<State> state_;
};

}  // namespace memflame
