// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/code_tables.h"

#include <algorithm>
#include <iterator>

namespace memflame::inside {
namespace {

// Adjacent code that is walked by frame pointers becomes one range.
void append(std::vector<CodeRange>& list, const CodeRange& next) {
  if (!list.empty() && next.rows == by_frame_pointer && list.back().rows == by_frame_pointer &&
      list.back().end == next.start)
    list.back().end = next.end;
  else
    list.push_back(next);
}

}  // namespace

void RangeRoom::reuse(uint64_t now_ns) {
  for (; !retired_.empty() && retired_.front().time_ns + rest_ns <= now_ns; retired_.pop_front()) {
    const Retired& old = retired_.front();
    auto at = free_.emplace(old.first, old.count).first;
    if (const auto next = std::next(at);
        next != free_.end() && at->first + at->second == next->first) {
      at->second += next->second;
      free_.erase(next);
    }
    if (at == free_.begin()) continue;
    const auto before = std::prev(at);
    if (before->first + before->second != at->first) continue;
    before->second += at->second;
    free_.erase(at);
  }
}

bool RangeRoom::take(uint32_t count, uint64_t now_ns, uint32_t& first) {
  reuse(now_ns);
  const auto place = std::find_if(free_.begin(), free_.end(),
                                  [count](const auto& room) { return room.second >= count; });
  if (place == free_.end()) return false;
  first = place->first;
  const uint32_t rest = place->second - count;
  free_.erase(place);
  if (rest != 0) free_.emplace(first + count, rest);
  return true;
}

void RangeRoom::give(uint32_t first, uint32_t count, uint64_t now_ns) {
  if (count != 0) retired_.push_back({now_ns, first, count});
}

CodeTables::CodeTables(Exchange& exchange, Spaces& spaces)
    : exchange_(exchange), spaces_(spaces), lists_(most_processes) {
  tables_.move_to(exchange_.rows());
}

void CodeTables::make_tables(std::span<const Mapping> code) {
  std::vector<std::pair<ModuleId, const Module*>> wanted;
  for (const Mapping& mapping : code) {
    const Module& module = spaces_.module(mapping.module);
    const bool has_image = module.kind == ModuleKind::vdso ||
                           (module.kind == ModuleKind::file && module.file.get() >= 0);
    if (has_image && !tables_.is_made(mapping.module)) wanted.emplace_back(mapping.module, &module);
  }
  tables_.make(wanted);
}

CodeRange CodeTables::range(const Mapping& mapping) const {
  CodeRange range{.start = mapping.start,
                  .end = mapping.end,
                  .base = mapping.start,
                  .first_row = 0,
                  .rows = by_frame_pointer};
  if (spaces_.module(mapping.module).kind == ModuleKind::anonymous) return range;
  range.rows = rows_missing;
  if (!tables_.is_made(mapping.module)) return range;
  const unwind::Table& table = tables_.table(mapping.module);
  if (table.segments.empty() ||
      !unwind::base_address(table, mapping.start, mapping.offset, range.base)) {
    range.rows = by_frame_pointer;  // code in a file that is not a program
    return range;
  }
  const unwind::Tables::Place place = tables_.place(mapping.module);
  if (place.count == 0) return range;
  range.first_row = place.first;
  range.rows = place.count;
  return range;
}

// Adds the parts of generated code whose rows are known, and the code between them, which is walked
// by frame pointers.
void CodeTables::add_made_code(SpaceId space, const Mapping& mapping,
                               std::vector<CodeRange>& list) {
  CodeRange rest = range(mapping);
  made_code_.look(space, spaces_.pid_of(space), mapping, tables_);
  for (const MadeCode::Block& block : made_code_.blocks(space, mapping)) {
    CodeRange before = rest;
    before.end = block.start;
    if (before.start < before.end) append(list, before);
    append(list, {.start = block.start,
                  .end = block.start + unwind::copies_bytes,
                  .base = block.start,
                  .first_row = block.place.first,
                  .rows = block.place.count});
    rest.start = rest.base = block.start + unwind::copies_bytes;
  }
  if (rest.start < rest.end) append(list, rest);
}

std::vector<CodeRange> CodeTables::list_of(SpaceId space) {
  // A copy: looking at the memory of a process may change what is known of its code.
  const std::vector<Mapping> code = spaces_.code_of(space, monotonic_ns());
  make_tables(code);
  std::vector<CodeRange> list;
  for (const Mapping& mapping : code) {
    const Module& module = spaces_.module(mapping.module);
    // The kernel's page of return probes and displaced instructions is nobody's code.
    if (module.path.starts_with("[uprobes")) continue;
    if (module.kind == ModuleKind::anonymous)
      add_made_code(space, mapping, list);
    else
      append(list, range(mapping));
  }
  return list;
}

void CodeTables::publish(uint32_t process, SpaceId space) {
  const std::vector<CodeRange> list = list_of(space);
  const uint64_t now = monotonic_ns();
  const auto count = static_cast<uint32_t>(list.size());
  uint32_t first = 0;
  if (count == 0) return;
  // An agent forgets what it knows when it sees another list.
  const auto [last, last_count] = lists_[process];
  if (count == last_count && std::equal(list.begin(), list.end(), exchange_.code().begin() + last))
    return;
  if (!room_.take(count, now, first)) {
    ++refused_;
    return;
  }
  std::copy(list.begin(), list.end(), exchange_.code().begin() + first);
  Process& shared = exchange_.process(process);
  const uint64_t generation = taken_once(shared.generation);
  memflame::inside::publish(shared.code, uint64_t{first} | uint64_t{count} << 32);
  memflame::inside::publish(shared.generation, generation + 1);
  const auto [old, old_count] = std::exchange(lists_[process], {first, count});
  room_.give(old, old_count, now);
}

void CodeTables::release(uint32_t process, SpaceId space) {
  made_code_.forget(space);
  const auto [first, count] = std::exchange(lists_[process], {0, 0});
  room_.give(first, count, monotonic_ns());
}

}  // namespace memflame::inside
