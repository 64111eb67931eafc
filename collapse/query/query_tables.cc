// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/query/query_tables.h"

#include <algorithm>

namespace memflame {
namespace {

class SchemaRows : public QueryRows {
 public:
  explicit SchemaRows(const QueryTables& tables) : tables_(tables) {}

  bool next() override {
    if (is_begun_ && ++row_ > columns()) {
      ++table_;
      row_ = 0;
    }
    is_begun_ = true;
    return table_ < tables_.size();
  }

  // The first row of a table is about itself.
  QueryValue value(size_t column) override {
    const QueryTable& table = *tables_[table_];
    if (column == 0) return std::string(table.name());
    if (row_ == 0) {
      if (column != 3) return std::string();
      return std::string(table.meaning()) +
             (table.missing().empty() ? "" : " (" + table.missing() + ")");
    }
    const QueryColumn& described = table.columns()[row_ - 1];
    return std::string(column == 1   ? described.name
                       : column == 2 ? name_of(described.type)
                                     : described.meaning);
  }

 private:
  size_t columns() const {
    const QueryTable& table = *tables_[table_];
    return table.missing().empty() ? table.columns().size() : 0;
  }

  const QueryTables& tables_;
  bool is_begun_ = false;
  size_t table_ = 0, row_ = 0;
};

}  // namespace

std::string_view name_of(QueryType type) {
  switch (type) {
    case QueryType::integer:
      return "integer";
    case QueryType::real:
      return "real";
    case QueryType::text:
      return "text";
    case QueryType::any:
      break;
  }
  return "";
}

QueryTables tables_of(QueryRun& run) {
  QueryTables tables;
  for (const auto& table :
       {blocks_table, stacks_table, frames_table, readings_table, figures_table, markers_table,
        gaps_table, threads_table, processes_table, recording_table})
    tables.push_back(table(run));
  return tables;
}

QueryResult schema_of(const QueryTables& tables) {
  return {.columns = {"table", "column", "type", "meaning"},
          .rows = std::make_unique<SchemaRows>(tables)};
}

}  // namespace memflame
