// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "render/order/source_lines.h"
#include "render/order/stack_rows.h"
#include "render/output.h"
#include "render/text/clean_text.h"
#include "render/text/csv_field.h"
#include "render/text/folded_names.h"

namespace memflame {
namespace {

// "/src/reader.cc:37", as it is in the profile.
std::string place_text(const Profile& profile, const Frame& frame) {
  uint64_t replaced = 0;
  std::string text = clean_text(profile.strings[frame.file], replaced);
  std::replace(text.begin(), text.end(), ';', ':');
  if (frame.line != 0) text += ':' + std::to_string(frame.line);
  return text;
}

// Places of the frames of a row, in the order of its names: empty where nothing is known.
std::string places_of(const Profile& profile, const StackRows& rows) {
  std::string text;
  for (size_t depth = 1; depth <= rows.depth(); ++depth) {
    const StackId stack = rows.stacks(depth).front();
    text += depth == 1 ? "" : ";";
    text += place_text(profile, profile.frames[profile.stacks[stack].frame]);
  }
  return text;
}

void write_rows(std::ostream& out, const Profile& profile, bool places) {
  uint64_t replaced = 0;
  out << "stack";
  for (const ValueType& type : profile.types) {
    if (type.unit == Unit::variance) continue;
    const std::string unit = " (" + std::string(name(type.unit)) + ")";
    out << ',' << csv_field(clean_text(type.name, replaced) + unit);
    if (type.variance != no_column)
      out << ',' << csv_field(clean_text(type.name, replaced) + " ±" + unit);
  }
  out << (places ? ",source\r\n" : "\r\n");
  const FoldedNames names(profile, true);
  for (StackRows rows(profile, names.views(), ';'); rows.next();) {
    const std::span<const int64_t> values = rows.values();
    out << csv_field(rows.path());
    for (size_t i = 0; i < values.size(); ++i) {
      const ValueType& type = profile.types[i];
      if (type.unit == Unit::variance) continue;
      out << ',' << plain(values[i], type.decimals);
      if (type.variance != no_column)
        out << ',' << number_text(std::round(profile.standard_error(i, values) * 100) / 100);
    }
    if (places) out << ',' << csv_field(places_of(profile, rows));
    out << "\r\n";
  }
}

}  // namespace

// A column of estimates is followed by one of their standard errors; source lines come last.
void write_csv(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  if (!has_lines(profile))
    write_rows(out, profile, false);
  else
    write_rows(out, options.lines ? with_lines_in_names(profile) : by_function(profile), true);
}

}  // namespace memflame
