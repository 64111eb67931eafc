// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "render/query/cell_text.h"
#include "render/query/query_output.h"

namespace memflame {
namespace {

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Most readers of JSON keep numbers as doubles: those beyond 2^53 would be rounded, so they are
// texts.
std::string json_cell(const QueryValue& value) {
  constexpr int64_t exact = int64_t{1} << 53U;
  if (const auto* text = std::get_if<std::string>(&value)) return json_string(*text);
  if (const auto* number = std::get_if<int64_t>(&value);
      number && std::abs(*number / 2) >= exact / 2)
    return json_string(std::to_string(*number));
  if (const auto* real = std::get_if<double>(&value); real && std::isinf(*real)) return "null";
  return cell_text(value, "null");
}

// An object cannot have two members of one name: the second `name` is "name-2".
std::vector<std::string> member_names(const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const std::string& column : columns) {
    std::string name = column;
    for (int i = 2; std::find(names.begin(), names.end(), name) != names.end(); ++i)
      name = column + "-" + std::to_string(i);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

void write_query_json(std::ostream& out, QueryResult& result, const QueryLooks&) {
  std::vector<std::string> members = member_names(result.columns);
  for (std::string& member : members) member = json_string(member);
  out << "[";
  for (bool is_first = true; out && result.rows->next(); is_first = false) {
    out << (is_first ? "\n{" : ",\n{");
    for (size_t i = 0; i < members.size(); ++i)
      out << (i == 0 ? "" : ", ") << members[i] << ": " << json_cell(result.rows->value(i));
    out << "}";
  }
  out << "\n]\n";
}

}  // namespace memflame
