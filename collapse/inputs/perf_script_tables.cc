#include "collapse/inputs/perf_script_tables.h"

#include "core/error.h"

namespace memflame {

FrameId PerfTables::frame(FrameKind kind, std::string_view function, std::string_view module) {
  const std::lock_guard lock(mutex_);
  return profile.frames.intern({.function = profile.strings.intern(function),
                                .module = profile.strings.intern(module),
                                .file = {},
                                .kind = kind});
}

FrameId PerfTables::at(FrameId frame, std::string_view file, uint32_t line) {
  const std::lock_guard lock(mutex_);
  Frame placed = profile.frames[frame];
  placed.file = profile.strings.intern(file);
  placed.line = line;
  return profile.frames.intern(placed);
}

uint32_t PerfTables::event(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto known = event_numbers_.find(name);
  if (known != event_numbers_.end()) return known->second;
  if (events.size() == max_columns) throw Error("more than 1,024 different events");
  const auto number = static_cast<uint32_t>(events.size());
  event_numbers_.emplace(name, number);
  events.emplace_back(name);
  return number;
}

uint32_t PerfTables::row(const Hash128& hash, std::span<const uint32_t> key) {
  const std::lock_guard lock(mutex_);
  if (const uint32_t known = known_rows_.find(hash); known != 0) return known;
  StackId stack;
  if (key[1] != 0) stack = profile.stacks.push(stack, FrameId{key[1]});
  for (size_t i = key.size(); i-- > 2;) stack = profile.stacks.push(stack, FrameId{key[i]});
  const uint64_t exact = mix(stack.index, key[0]);
  uint32_t row = row_of_stack_.find(
      exact, [&](uint32_t at) { return rows[at].stack == stack && rows[at].event == key[0]; });
  if (row == 0) {
    row = next_index(rows.size());
    rows.push_back({stack, key[0]});
    row_of_stack_.insert(exact, row);
  }
  known_rows_.insert(hash, row);
  return row;
}

}  // namespace memflame
