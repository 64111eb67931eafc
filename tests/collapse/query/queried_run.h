// SPDX-License-Identifier: BSD-2-Clause
// Runs made by hand, and what SQL says of them.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "collapse/query/query_database.h"
#include "collapse/query/query_run.h"
#include "core/error.h"
#include "tests/collapse/select/made_run.h"

namespace memflame {

// Rows with '|' between cells, and ';' behind each row.
inline std::string rows_text(QueryResult result) {
  std::string text;
  while (result.rows->next()) {
    for (size_t i = 0; i < result.columns.size(); ++i) {
      const QueryValue value = result.rows->value(i);
      if (i > 0) text += '|';
      if (const auto* number = std::get_if<int64_t>(&value)) text += std::to_string(*number);
      if (const auto* real = std::get_if<double>(&value)) text += std::to_string(*real);
      if (const auto* word = std::get_if<std::string>(&value)) text += *word;
      if (std::holds_alternative<std::monostate>(value)) text += "NULL";
    }
    text += ';';
  }
  return text;
}

// A history of which SQL can ask everything. Changes to it are to be made before the first query.
struct QueriedRun {
  explicit QueriedRun(BlockSource* source) : blocks(source) {}

  std::string ask(const std::string& sql) {
    if (!database) {
      run.emplace(
          history, blocks, [](std::string_view name) { return std::string(name); }, stop);
      tables = tables_of(*run);
      database.emplace(tables, stop);
    }
    return rows_text(database->run(sql));
  }
  // "2: …": the exit code and the words of its refusal; "" if it is not refused.
  std::string refusal(const std::string& sql) {
    try {
      ask(sql);
    } catch (const Error& error) {
      return std::to_string(static_cast<int>(error.exit_code)) + ": " + error.what();
    }
    return {};
  }

  History history;
  BlockSource* blocks;
  std::atomic<bool> stop = false;
  std::optional<QueryRun> run;
  QueryTables tables;
  std::optional<QueryDatabase> database;
};

}  // namespace memflame
