// SPDX-License-Identifier: BSD-2-Clause
// A table that queries can read: a name, columns with their meaning, and rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/query_rows.h"

namespace memflame {

// All values of a column are of its type, or NULL.
enum class QueryType : uint8_t { integer, real, text, any };
std::string_view name_of(QueryType type);  // as SQL has it; "" for any

struct QueryColumn {
  std::string_view name;  // needs no quotes in SQL
  QueryType type;
  std::string_view meaning;
};

// Which rows are asked for, and what of them.
struct WantedRows {
  static constexpr uint64_t all_columns = std::numeric_limits<uint64_t>::max();
  // Bit i: the cells of column i may be asked for; the last bit: of all further ones.
  uint64_t columns = all_columns;
  std::optional<int64_t> key{};  // only rows with this value of the key column

  bool has(size_t column) const { return (columns >> (column < 63 ? column : 63) & 1U) != 0; }
};

class QueryTable {
 public:
  QueryTable() = default;
  QueryTable(const QueryTable&) = delete;
  QueryTable& operator=(const QueryTable&) = delete;
  virtual ~QueryTable() = default;

  virtual std::string_view name() const = 0;
  virtual std::string_view meaning() const = 0;
  virtual const std::vector<QueryColumn>& columns() const = 0;

  // Why the recording does not have this table, and what to record for it; "" if it has it.
  virtual std::string missing() const { return {}; }
  // A column by whose value rows are found without reading all others.
  virtual std::optional<size_t> key() const { return std::nullopt; }
  virtual bool is_unique_key() const { return false; }

  // For the order of joins: about how many rows there are, and whether each reading of all rows
  // takes long.
  virtual uint64_t expected_rows() const = 0;
  virtual bool is_slow() const { return false; }

  // Rows in the order of the run. What was asked for is valid as long as the table. Throws Error.
  virtual std::unique_ptr<QueryRows> rows(const WantedRows& wanted) = 0;
};

}  // namespace memflame
