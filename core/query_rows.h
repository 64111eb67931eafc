// SPDX-License-Identifier: BSD-2-Clause
// Rows of a table or of a query's result, one after the other: there may be more of them than fit
// into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace memflame {

// A cell; monostate is SQL's NULL.
using QueryValue = std::variant<std::monostate, int64_t, double, std::string>;

class QueryRows {
 public:
  QueryRows() = default;
  QueryRows(const QueryRows&) = delete;
  QueryRows& operator=(const QueryRows&) = delete;
  virtual ~QueryRows() = default;

  // Goes to the next row, the first time to the first one. False if there are no more; it is not
  // called again then. Throws Error.
  virtual bool next() = 0;
  // A cell of that row. Throws Error.
  virtual QueryValue value(size_t column) = 0;
};

struct QueryResult {
  std::vector<std::string> columns;  // any text, possibly the same several times
  std::unique_ptr<QueryRows> rows;
};

}  // namespace memflame
