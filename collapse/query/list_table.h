// SPDX-License-Identifier: BSD-2-Clause
// Tables whose rows are entries of a list in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "collapse/query/query_run.h"
#include "collapse/query/query_table.h"

namespace memflame {

struct ListColumn {
  QueryColumn column;
  QueryValue (*value)(QueryRun& run, size_t row);  // rows count from 0
};

struct ListTableInfo {
  std::string_view name, meaning;
  std::span<const ListColumn> columns;
  size_t (*rows)(QueryRun& run);
  // The first column is the row's number, counted from 1.
  bool is_numbered = false;
};

// `info` is a constant; `run` outlives the table.
std::unique_ptr<QueryTable> list_table(const ListTableInfo& info, QueryRun& run);

}  // namespace memflame
