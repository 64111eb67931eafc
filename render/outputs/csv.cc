#include <cmath>

#include "core/units.h"
#include "render/clean_text.h"
#include "render/output.h"
#include "render/stack_rows.h"

namespace memflame {
namespace {

// As RFC 4180 has it: in quotes where the text holds a quote, a comma or an end of line.
std::string field(const std::string& text) {
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) (c == '"' ? out += '"' : out) += c;
  return out + "\"";
}

}  // namespace

// A column of estimates is followed by one of their standard errors.
void write_csv(std::ostream& out, const Profile& profile, const RenderOptions&) {
  const CleanStrings clean = clean_strings(profile);
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
  for (const StackRow& row : stack_rows(profile, folded_names(profile, clean), ';')) {
    out << field(row.path);
    for (size_t i = 0; i < row.values.size(); ++i) {
      const ValueType& type = profile.types[i];
      if (type.unit == Unit::variance) continue;
      out << ',' << plain(row.values[i], type.decimals);
      if (type.variance != no_column)
        out << ',' << number_text(std::round(profile.standard_error(i, row.values) * 100) / 100);
    }
    out << "\r\n";
  }
}

}  // namespace memflame
