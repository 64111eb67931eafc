// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/os_ledger.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/units.h"

namespace memflame {
namespace {

OsMemory from_record(const bpf::space_record& record) {
  const auto pages = [](int64_t n) { return n * page_bytes; };
  constexpr uint64_t mask = page_bytes - 1;
  OsMemory memory;
  memory.vm_size = pages(static_cast<int64_t>(record.vm_pages));
  // The [heap] mapping begins at the page of start_brk and ends at the page after brk.
  if (record.brk != record.start_brk)
    memory.heap = static_cast<int64_t>((record.brk + mask) & ~mask) -
                  static_cast<int64_t>(record.start_brk & ~mask);
  memory.rss_file = pages(record.rss[0]);
  memory.rss_anon = pages(record.rss[1]);
  memory.swap = pages(record.rss[2]);
  memory.rss_shmem = pages(record.rss[3]);
  memory.stack = pages(static_cast<int64_t>(record.stack_pages));
  return memory;
}

}  // namespace

void OsLedger::adopt(SpaceId space, pid_t pid) { entries_[space.index].pid = pid; }

OsLedger::Past& OsLedger::make_past(uint32_t space, const Entry& entry) {
  if (past_.size() <= space) past_.resize(space + size_t{1});
  past_[space].pid = entry.pid;
  return past_[space];
}

void OsLedger::take(const bpf::space_record& record) {
  if (is_past(record.space)) return;
  Entry& entry = entries_[record.space];
  entry.pid = static_cast<pid_t>(record.tgid);
  if (record.has_memory) {
    OsMemory memory = from_record(record);
    if (record.reason == bpf::space_end || record.reason == bpf::space_ending) {
      entry.end = memory;
    } else {
      // What the kernel makes resident to start a program is captured too, as [exec].
      if (record.reason == bpf::space_exec)
        memory.rss_anon = memory.rss_file = memory.rss_shmem = 0;
      entry.start = memory;
    }
  }
  if (record.reason != bpf::space_end) return;
  if (!entry.ended) ++ends_;
  entry.ended = true;
  if (!entry.end && entry.last) {
    entry.end = entry.last;
    entry.is_approximate = true;
  }
  if (!adds_up_ended_ || entry.pid == 0) return;
  make_past(record.space, entry).has_figures = entry.has_figures();
  if (entry.has_figures()) past_growth_ += *entry.end - *entry.start;
  ++added_up_;
  if (!entry.has_figures()) ++added_up_without_;
  if (entry.is_approximate) ++added_up_approximate_;
  entries_.erase(record.space);
}

void OsLedger::begin_estate(SpaceId space, bool has_figures) {
  Entry nobody;
  nobody.pid = -1;
  make_past(space.index, nobody).has_figures = has_figures;
}

void OsLedger::forget(std::span<const SpaceId> spaces) {
  for (const SpaceId space : spaces) {
    if (!has_ended(space)) continue;
    const auto entry = entries_.find(space.index);
    if (entry == entries_.end()) continue;
    make_past(space.index, entry->second).is_forgotten = true;
    entries_.erase(entry);
  }
}

void OsLedger::poll() {
  for (auto& [id, entry] : entries_)
    if (!entry.ended)
      if (const std::optional<OsMemory> now = read_now(entry.pid)) entry.last = now;
}

void OsLedger::read_ends() {
  for (auto& [id, entry] : entries_)
    if (!entry.ended) entry.end = read_now(entry.pid);
}

bool OsLedger::has_figures(SpaceId space) const {
  const auto entry = entries_.find(space.index);
  if (entry != entries_.end()) return entry->second.has_figures();
  return is_past(space.index) && past_[space.index].has_figures;
}

std::optional<OsMemory> OsLedger::growth() const {
  if (spaces() != 0 && without_figures() == spaces()) return {};
  OsMemory sum = past_growth_;
  for (const auto& [id, entry] : entries_)
    if (entry.has_figures()) sum += *entry.end - *entry.start;
  return sum;
}

void OsLedger::compare(Reconciliation row, Recording& recording) const {
  const auto count = [](size_t number) { return with_commas(static_cast<int64_t>(number)); };
  std::vector<std::string>& notes = recording.meta.notes;
  if (const size_t without = without_figures(); without == spaces() && without != 0) {
    row.os.reset();
    notes.push_back(row.name +
                    " is not known: what the OS says was not read both at the start and at the end "
                    "of any process");
  } else if (without != 0) {
    notes.push_back(row.name + " leaves out " + count(without) + " of " + count(spaces()) +
                    " processes, as what the OS says was not read at their start or their end");
  }
  recording.meta.reconciliation.push_back(std::move(row));
}

size_t OsLedger::without_figures() const {
  const auto without = std::count_if(entries_.begin(), entries_.end(),
                                     [](const auto& pair) { return !pair.second.has_figures(); });
  return added_up_without_ + static_cast<size_t>(without);
}

size_t OsLedger::approximate() const {
  const auto approximate = std::count_if(entries_.begin(), entries_.end(), [](const auto& pair) {
    return pair.second.is_approximate;
  });
  return added_up_approximate_ + static_cast<size_t>(approximate);
}

int64_t OsLedger::captured(const Recording& recording, size_t column) const {
  int64_t sum = 0;
  for (const Aggregate& row : recording.sums)
    if (has_figures(recording.stacks[row.stack.index].space)) sum += row.values[column];
  return sum;
}

std::vector<pid_t> OsLedger::pids() const {
  std::map<uint32_t, pid_t> by_space;
  for (const auto& [id, entry] : entries_) by_space[id] = entry.pid;
  for (uint32_t id = 0; id < past_.size(); ++id)
    if (past_[id].pid > 0 && !past_[id].is_forgotten) by_space[id] = past_[id].pid;
  std::vector<pid_t> pids;
  std::unordered_set<pid_t> known;
  for (const auto& [id, pid] : by_space)
    if (known.insert(pid).second) pids.push_back(pid);
  return pids;
}

std::optional<OsMemory> OsLedger::last_reading() const {
  std::optional<OsMemory> sum;
  for (const auto& [id, entry] : entries_) {
    if (entry.ended || !entry.last) continue;
    if (!sum) sum = OsMemory{};
    *sum += *entry.last;
  }
  return sum;
}

int64_t OsLedger::resident_bytes() const {
  int64_t bytes = 0;
  for (const pid_t pid : living()) bytes += parse_resident(read_file(proc_path(pid, "statm")));
  return bytes;
}

std::vector<std::pair<SpaceId, pid_t>> OsLedger::living_spaces() const {
  std::map<pid_t, SpaceId> newest;  // numbers of spaces grow
  for (const auto& [id, entry] : entries_)
    if (!entry.ended) newest[entry.pid] = SpaceId{id};
  std::vector<std::pair<SpaceId, pid_t>> spaces;
  spaces.reserve(newest.size());
  for (const auto& [pid, space] : newest) spaces.emplace_back(space, pid);
  return spaces;
}

std::vector<pid_t> OsLedger::living() const {
  std::vector<pid_t> living;
  living.reserve(entries_.size());
  for (const auto& [space, pid] : living_spaces()) living.push_back(pid);
  return living;
}

}  // namespace memflame
