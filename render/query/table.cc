// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <string>

#include "render/query/cell_text.h"
#include "render/query/query_output.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

// The first rows decide how wide columns are. Later ones are written as they come: there may be
// more of them than fit into memory.
constexpr size_t rows_for_widths = 1000;
// Longer texts lose their beginning, except in the last column: the end of a stack says more.
constexpr size_t most_letters = 60;

struct TableCell {
  std::string text;
  bool is_right = false;
};
using TableRow = std::vector<TableCell>;

class TableWriter {
 public:
  TableWriter(std::ostream& out, QueryResult& result)
      : out_(out), result_(result), widths_(result.columns.size()) {}

  void run() {
    std::vector<TableRow> rows;
    bool goes_on = true;
    while (rows.size() < rows_for_widths && (goes_on = result_.rows->next())) rows.push_back(row());
    TableRow head, rule;
    for (size_t i = 0; i < widths_.size(); ++i) head.push_back(fitted(result_.columns[i], i));
    // The head stands where the figures below it do.
    for (size_t i = 0; i < widths_.size(); ++i)
      head[i].is_right = !rows.empty() && rows.front()[i].is_right;
    for (const TableRow& row : rows) widen(row);
    widen(head);
    for (const size_t width : widths_) rule.push_back({std::string(width, '-')});
    write(head);
    write(rule);
    for (const TableRow& row : rows) write(row);
    rows.clear();
    while (goes_on && out_ && (goes_on = result_.rows->next())) write(row());
  }

 private:
  TableRow row() const {
    TableRow cells;
    for (size_t i = 0; i < widths_.size(); ++i) {
      const QueryValue value = result_.rows->value(i);
      cells.push_back(fitted(cell_text(value, "NULL"), i));
      cells.back().is_right = is_number(value) || std::holds_alternative<std::monostate>(value);
    }
    return cells;
  }

  TableCell fitted(const std::string& text, size_t column) const {
    uint64_t replaced = 0;
    std::string clean = clean_text(text, replaced);
    const size_t count = letters(clean);
    if (column + 1 == widths_.size() || count <= most_letters) return {clean};
    const size_t cut = first_letters(clean, count - most_letters + 1).size();
    return {"…" + clean.substr(cut)};
  }

  void widen(const TableRow& row) {
    for (size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], letters(row[i].text));
  }

  void write(const TableRow& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t width = letters(row[i].text);
      const std::string blanks(width < widths_[i] ? widths_[i] - width : 0, ' ');
      line += i == 0 ? "" : "  ";
      line += row[i].is_right ? blanks + row[i].text : row[i].text + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out_ << line << '\n';
  }

  std::ostream& out_;
  QueryResult& result_;
  std::vector<size_t> widths_;
};

}  // namespace

void write_query_table(std::ostream& out, QueryResult& result, const QueryLooks&) {
  TableWriter(out, result).run();
}

}  // namespace memflame
