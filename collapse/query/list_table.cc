// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/query/list_table.h"

namespace memflame {
namespace {

class ListRows : public QueryRows {
 public:
  // Rows first..end.
  ListRows(const ListTableInfo& info, QueryRun& run, size_t first, size_t end)
      : info_(info), run_(run), next_(first), end_(end) {}

  bool next() override {
    if (next_ >= end_) return false;
    ++next_;
    return true;
  }
  QueryValue value(size_t column) override { return info_.columns[column].value(run_, next_ - 1); }

 private:
  const ListTableInfo& info_;
  QueryRun& run_;
  size_t next_, end_;
};

class ListTable : public QueryTable {
 public:
  ListTable(const ListTableInfo& info, QueryRun& run) : info_(info), run_(run) {
    for (const ListColumn& column : info.columns) columns_.push_back(column.column);
  }

  std::string_view name() const override { return info_.name; }
  std::string_view meaning() const override { return info_.meaning; }
  const std::vector<QueryColumn>& columns() const override { return columns_; }
  std::optional<size_t> key() const override {
    return info_.is_numbered ? std::optional<size_t>(0) : std::nullopt;
  }
  bool is_unique_key() const override { return info_.is_numbered; }
  uint64_t expected_rows() const override { return info_.rows(run_); }

  std::unique_ptr<QueryRows> rows(const WantedRows& wanted) override {
    const size_t count = info_.rows(run_);
    if (!wanted.key) return std::make_unique<ListRows>(info_, run_, 0, count);
    const bool is_there = *wanted.key >= 1 && static_cast<uint64_t>(*wanted.key) <= count;
    const size_t row = is_there ? static_cast<size_t>(*wanted.key) - 1 : count;
    return std::make_unique<ListRows>(info_, run_, row, is_there ? row + 1 : count);
  }

 private:
  const ListTableInfo& info_;
  QueryRun& run_;
  std::vector<QueryColumn> columns_;
};

}  // namespace

std::unique_ptr<QueryTable> list_table(const ListTableInfo& info, QueryRun& run) {
  return std::make_unique<ListTable>(info, run);
}

}  // namespace memflame
