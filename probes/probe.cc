// SPDX-License-Identifier: BSD-2-Clause
#include "probes/probe.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "core/error.h"
#include "probes/loading/loaded_probe.h"
#include "probes/options/common_options.h"
#include "probes/stacks/rows.h"

namespace memflame {

extern const Probe alloc_probe;
extern const Probe brk_probe;
extern const Probe mmap_probe;
extern const Probe fault_probe;
extern const Probe kernel_probe;

std::span<const Probe* const> probes() {
  static constexpr std::array all{&alloc_probe, &brk_probe, &mmap_probe, &fault_probe,
                                  &kernel_probe};
  return all;
}

ProbeOptions default_options(const Probe& probe) {
  ProbeOptions options;
  if (probe.settings != nullptr) options.own = probe.settings();
  return options;
}

std::vector<OptionRow> option_rows(const Probe& probe, ProbeOptions& options) {
  std::vector<OptionRow> rows;
  const auto add = [&](std::vector<OptionRow>&& more) {
    rows.insert(rows.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  };
  if (probe.has_blocks) add(block_rows(options));
  if (options.own) add(options.own->rows(options));
  if (probe.user_stacks) add(stack_rows(options));
  return rows;
}

void settle_options(ProbeOptions& options) {
  if (options.min_size > options.max_size)
    throw Error("--min-size is larger than --max-size: no block would be left", ExitCode::usage);
  if (options.own) options.own->settle(options);
}

const ProbeValue& value_named(const Probe& probe, std::string_view name) {
  if (name.empty()) return probe.values.front();
  const auto found = std::find_if(probe.values.begin(), probe.values.end(),
                                  [&](const ProbeValue& value) { return value.name == name; });
  if (found != probe.values.end()) return *found;
  std::string known;
  for (const ProbeValue& value : probe.values)
    known += (known.empty() ? "" : ", ") + std::string(value.name);
  throw Error("--value " + std::string(name) + ": memflame " + std::string(probe.name) +
                  " measures " + known,
              ExitCode::usage);
}

void Accounting::finish(const LoadedProbe& probe, RecordingRows& rows) {
  add_figures(probe, rows.recording().types, rows);
}

void Accounting::forget(LoadedProbe& probe, std::span<const uint64_t> keys,
                        std::span<const SpaceId> spaces) {
  for (const uint64_t key : keys) probe.object.erase("sums", key);
  for (const SpaceId space : spaces)
    for (uint64_t note = 0; note < bpf::note_count; ++note)
      probe.object.erase("notes", uint64_t{space.index} << 8 | note);
  if (!keys.empty()) probe.object.sums_have_room();
}

void Accounting::move(LoadedProbe& probe, std::span<StackMove> moves, StackLog& log) {
  for (StackMove& move : moves) {
    const char* const map = move.from >> 63 != 0 ? "sums" : "notes";
    bpf::sum sum{};
    if (!probe.object.lookup(map, move.from, sum)) continue;
    probe.object.erase(map, move.from);
    // For the first probe, if it follows blocks, the second column is the number of live ones.
    if (probe.number == 0) move.has_blocks = sum.value[1] != 0;
    StackLog::Values values{};
    std::ranges::copy(sum.value, values.begin());
    log.add(probe.number, move.to, values);
  }
  probe.object.sums_have_room();
}

void Accounting::add_figures(const LoadedProbe& probe, std::span<const ValueType> types,
                             Rows& rows) {
  // The place of each column in the kernel's sums, which keep all variances behind the figures.
  std::vector<size_t> places;
  size_t figures = 0;
  size_t variances = bpf::first_variance;
  for (const ValueType& type : types)
    places.push_back(type.unit == Unit::variance ? variances++ : figures++);
  std::unordered_set<uint64_t> copies;
  const auto add = [&](uint64_t key, const int64_t* sums) {
    std::vector<int64_t> values;
    values.reserve(places.size());
    // Other columns have figures that user space adds.
    for (const size_t place : places) values.push_back(place < bpf::columns ? sums[place] : 0);
    const bool empty = std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
    if (empty) return;
    // Each copy of a stack is one event, even if its figures are in several tables.
    const bool is_copy = is_copy_key(key);
    const int64_t events = is_copy ? int64_t{copies.insert(key).second} : events_of(sums);
    rows.add(key, "", values, events);
  };
  for (const char* map : {"sums", "notes"})
    probe.object.for_each<uint64_t, bpf::sum>(
        map, [&](const uint64_t& key, const bpf::sum& sum) { add(key, sum.value); });
  rows.log().for_each_amount(
      probe.number, [&](uint64_t key, const StackLog::Values& values) { add(key, values.data()); });
}

}  // namespace memflame
