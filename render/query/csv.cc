// SPDX-License-Identifier: BSD-2-Clause
#include "render/query/cell_text.h"
#include "render/query/query_output.h"
#include "render/text/csv_field.h"

namespace memflame {

// NULL is an empty field; a text that is empty is one in quotes.
void write_query_csv(std::ostream& out, QueryResult& result, const QueryLooks&) {
  for (size_t i = 0; i < result.columns.size(); ++i)
    out << (i == 0 ? "" : ",") << csv_field(result.columns[i]);
  out << "\r\n";
  while (out && result.rows->next()) {
    for (size_t i = 0; i < result.columns.size(); ++i) {
      const QueryValue value = result.rows->value(i);
      const auto* text = std::get_if<std::string>(&value);
      out << (i == 0 ? "" : ",");
      out << (text != nullptr && text->empty() ? "\"\"" : csv_field(cell_text(value, "")));
    }
    out << "\r\n";
  }
}

}  // namespace memflame
