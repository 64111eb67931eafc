// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/code_tables.h"

#include <algorithm>
#include <iterator>

namespace memflame::inside {
namespace {

CodeRange range_of(const CodeEntry& entry) {
  static_assert(by_frame_pointer == bpf::code_frame_pointer && rows_missing == bpf::code_no_table);
  return {entry.start, entry.end, entry.base, entry.first_row, entry.rows};
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

CodeTables::CodeTables(Exchange& exchange, Spaces& spaces, std::function<void()> meanwhile)
    : exchange_(exchange),
      spaces_(spaces),
      meanwhile_(std::move(meanwhile)),
      lists_(most_processes) {
  tables_.move_to(exchange_.rows());
}

std::vector<CodeRange> CodeTables::list_of(SpaceId space) {
  // A copy: looking at the memory of a process may change what is known of its code.
  const std::vector<Mapping> code = spaces_.code_of(space, monotonic_ns());
  tables_.make(without_table(spaces_, code, tables_), meanwhile_);
  std::vector<CodeRange> list;
  for (const CodeEntry& entry : code_entries(spaces_, space, code, tables_, made_code_))
    list.push_back(range_of(entry));
  return list;
}

void CodeTables::publish(uint32_t process, SpaceId space, const std::function<void()>& before) {
  const std::vector<CodeRange> list = list_of(space);
  const uint64_t now = monotonic_ns();
  const auto count = static_cast<uint32_t>(list.size());
  uint32_t first = 0;
  if (count == 0) return;
  // An agent forgets what it knows when it sees another list.
  const auto [last, last_count] = lists_[process];
  Process& shared = exchange_.process(process);
  const uint64_t last_code = uint64_t{last} | uint64_t{last_count} << 32;
  // A program may have written over where its list is.
  if (count == last_count && taken_once(shared.code) == last_code &&
      std::equal(list.begin(), list.end(), exchange_.code().begin() + last))
    return;
  if (!room_.take(count, now, first)) {
    ++refused_;
    return;
  }
  std::copy(list.begin(), list.end(), exchange_.code().begin() + first);
  const uint64_t generation = taken_once(shared.generation);
  if (before) before();
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
