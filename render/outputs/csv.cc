// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "render/clean_text.h"
#include "render/folded_names.h"
#include "render/output.h"
#include "render/stack_rows.h"

namespace memflame {
namespace {

// As RFC 4180 has it: in quotes where the text holds a quote, a comma or an end of line.
std::string field(std::string_view text) {
  const auto is_special = [](char c) { return c == '"' || c == ',' || c == '\r' || c == '\n'; };
  if (std::none_of(text.begin(), text.end(), is_special)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) (c == '"' ? out += '"' : out) += c;
  return out + "\"";
}

}  // namespace

// A column of estimates is followed by one of their standard errors.
void write_csv(std::ostream& out, const Profile& profile, const RenderOptions&) {
  uint64_t replaced = 0;
  out << "stack";
  for (const ValueType& type : profile.types) {
    if (type.unit == Unit::variance) continue;
    const std::string unit = " (" + std::string(name(type.unit)) + ")";
    out << ',' << field(clean_text(type.name, replaced) + unit);
    if (type.variance != no_column)
      out << ',' << field(clean_text(type.name, replaced) + " ±" + unit);
  }
  out << "\r\n";
  const FoldedNames names(profile, true);
  for (StackRows rows(profile, names.views(), ';'); rows.next();) {
    const std::span<const int64_t> values = rows.values();
    out << field(rows.path());
    for (size_t i = 0; i < values.size(); ++i) {
      const ValueType& type = profile.types[i];
      if (type.unit == Unit::variance) continue;
      out << ',' << plain(values[i], type.decimals);
      if (type.variance != no_column)
        out << ',' << number_text(std::round(profile.standard_error(i, values) * 100) / 100);
    }
    out << "\r\n";
  }
}

}  // namespace memflame
