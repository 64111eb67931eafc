// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/side_by_side.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace memflame {
namespace {

size_t width_of(const std::vector<ProbeTypes>& probes) {
  size_t width = 0;
  for (const ProbeTypes& probe : probes) width += probe.types.size();
  return width;
}

}  // namespace

std::vector<ValueType> side_by_side(const std::vector<ProbeTypes>& probes) {
  std::vector<ValueType> all;
  for (const ProbeTypes& probe : probes) {
    const size_t first = all.size();
    for (ValueType type : probe.types) {
      if (probes.size() > 1 && !probe.has_blocks)
        type.name = std::string(probe.probe) + "-" + type.name;
      if (type.variance != no_column) type.variance += first;
      all.push_back(std::move(type));
    }
  }
  return all;
}

SideBySide::SideBySide(Recording& recording)
    : recording_(recording),
      notes_(recording.meta.notes.size()),
      compared_(recording.meta.reconciliation.size()) {}

void SideBySide::take(std::string_view probe, bool has_blocks) {
  if (types_.empty()) shown_ = recording_.shown;
  types_.push_back({probe, has_blocks, std::exchange(recording_.types, {})});
  sums_.push_back(std::exchange(recording_.sums, {}));
  const std::string name = std::string(probe) + ": ";
  Meta& meta = recording_.meta;
  for (; notes_ < meta.notes.size(); ++notes_) meta.notes[notes_].insert(0, name);
  for (; compared_ < meta.reconciliation.size(); ++compared_)
    meta.reconciliation[compared_].name.insert(0, name);
  if (const std::string words = std::exchange(meta.sampling, ""); !words.empty())
    sampling_ += (sampling_.empty() ? "" : "; ") + name + words;
}

void SideBySide::finish() {
  recording_.types = side_by_side(types_);
  recording_.shown = shown_;
  recording_.meta.sampling = sampling_;
  const size_t width = width_of(types_);
  std::map<std::tuple<RawStackId, std::string, std::string, RawStackId>, size_t> places;
  size_t first = 0;
  for (size_t probe = 0; probe < sums_.size(); ++probe) {
    for (const Aggregate& sum : sums_[probe]) {
      const auto [place, is_new] =
          places.try_emplace({sum.stack, sum.group, sum.joint, sum.above}, recording_.sums.size());
      if (is_new)
        recording_.sums.push_back(
            {sum.stack, sum.group, std::vector<int64_t>(width), 0, sum.joint, sum.above});
      Aggregate& row = recording_.sums[place->second];
      row.events += sum.events;
      for (size_t i = 0; i < sum.values.size(); ++i)
        if (!add_to(row.values[first + i], sum.values[i], recording_.types[first + i].unit))
          throw Error("a sum of '" + recording_.types[first + i].name +
                      "' does not fit in 64 bits");
    }
    first += types_[probe].types.size();
  }
}

}  // namespace memflame
