// SPDX-License-Identifier: BSD-2-Clause
#include "tests/collapse/report/report_figures.h"

#include <algorithm>

#include "collapse/fold/fold.h"

namespace memflame {
namespace {

std::string path_of(const Profile& profile, StackId stack) {
  std::string path;
  for (const FrameId frame : profile.path(stack))
    path.append(path.empty() ? "" : ";").append(profile.strings[profile.frames[frame].function]);
  return path;
}

void drop_zeros(FiguresByStack& figures) {
  std::erase_if(figures, [](const auto& entry) {
    return std::all_of(entry.second.begin(), entry.second.end(),
                       [](int64_t value) { return value == 0; });
  });
}

}  // namespace

FiguresByStack figures_of(const Report& report,
                          const std::function<int(const ReportRow&)>& counts) {
  FiguresByStack figures;
  for (size_t i = 0; i < report.rows.size(); ++i) {
    const int times = counts(report.rows[i]);
    if (times == 0) continue;
    std::vector<int64_t>& sums = figures[path_of(report.profile, report.rows[i].stack)];
    sums.resize(report.profile.types.size());
    for (size_t column = 0; column < sums.size(); ++column)
      sums[column] += times * report.values_of(i)[column];
  }
  drop_zeros(figures);
  return figures;
}

FiguresByStack figures_of(const Recording& recording, const std::vector<size_t>& columns) {
  const Profile profile = fold(recording, {.lines = true});
  FiguresByStack figures;
  for (const StackId stack : profile.touched()) {
    std::vector<int64_t>& sums = figures[path_of(profile, stack)];
    sums.resize(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) sums[i] += profile.values(stack)[columns[i]];
  }
  drop_zeros(figures);
  return figures;
}

bool is_within(uint32_t bin, uint32_t from, uint32_t until) { return bin >= from && bin < until; }

bool lives_at(const ReportRow& row, uint32_t edge) {
  return row.born < edge && (row.freed == ReportRow::never || row.freed >= edge);
}

void name_stacks(Recording& recording, uint32_t functions) {
  const auto first = static_cast<uint32_t>(recording.locations.size());
  for (uint32_t i = 0; i < functions; ++i)
    recording.locations.emplace_back().symbols = {
        {.function = "f" + std::to_string(i), .file = {}, .module = "/usr/bin/server"}};
  recording.frames.resize(recording.stacks.size());
  for (uint32_t i = 1; i < recording.stacks.size(); ++i)
    recording.frames[i].assign(recording.stacks[i].pcs.size(), LocationId{first + i % functions});
}

}  // namespace memflame
