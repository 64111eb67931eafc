#include "render/stack_rows.h"

#include <algorithm>

#include "core/folded.h"

namespace memflame {

std::vector<StackRow> stack_rows(const Profile& profile, const std::vector<std::string>& names,
                                 char separator) {
  std::vector<StackRow> rows;
  rows.reserve(profile.touched().size());
  for (const StackId stack : profile.touched()) {
    StackRow& row = rows.emplace_back();
    for (const FrameId frame : profile.path(stack)) (row.path += names[frame.index]) += separator;
    if (!row.path.empty()) row.path.pop_back();
    const std::span<const int64_t> values = profile.values(stack);
    row.values.assign(values.begin(), values.end());
  }
  std::sort(rows.begin(), rows.end(),
            [](const StackRow& a, const StackRow& b) { return a.path < b.path; });
  size_t kept = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].path != rows[kept].path) {
      if (++kept != i) rows[kept] = std::move(rows[i]);
      continue;
    }
    for (size_t column = 0; column < rows[i].values.size(); ++column)
      if (!add_to(rows[kept].values[column], rows[i].values[column], profile.types[column].unit))
        throw Error("a sum of values leaves the range of 64 bits; the profile cannot be right");
  }
  if (!rows.empty()) rows.resize(kept + 1);
  return rows;
}

std::vector<std::string> folded_names(const Profile& profile, const CleanStrings& clean) {
  std::vector<std::string> names(profile.frames.size());
  for (uint32_t i = 1; i < names.size(); ++i) {
    const Frame& frame = profile.frames[FrameId{i}];
    names[i] = clean[frame.function];
    std::replace(names[i].begin(), names[i].end(), ';', ':');
    for (const FoldedSuffix& suffix : folded_suffixes)
      if (suffix.kind == frame.kind) names[i] += suffix.text;
  }
  return names;
}

}  // namespace memflame
