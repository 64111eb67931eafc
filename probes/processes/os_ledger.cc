// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/os_ledger.h"

#include <algorithm>
#include <string>
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

void OsLedger::take(const bpf::space_record& record) {
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
}

void OsLedger::forget(std::span<const SpaceId> spaces) {
  for (const SpaceId space : spaces) {
    if (!has_ended(space)) continue;
    entries_.erase(space.index);
    if (forgotten_.size() <= space.index) forgotten_.resize(space.index + size_t{1});
    forgotten_[space.index] = true;
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
  return entry != entries_.end() && entry->second.start && entry->second.end;
}

std::optional<OsMemory> OsLedger::growth() const {
  if (!entries_.empty() && without_figures() == entries_.size()) return {};
  OsMemory sum;
  for (const auto& [id, entry] : entries_)
    if (entry.start && entry.end) sum += *entry.end - *entry.start;
  return sum;
}

void OsLedger::compare(Reconciliation row, Recording& recording) const {
  const auto count = [](size_t number) { return with_commas(static_cast<int64_t>(number)); };
  std::vector<std::string>& notes = recording.meta.notes;
  if (const size_t without = without_figures(); without == entries_.size() && without != 0) {
    row.os.reset();
    notes.push_back(row.name +
                    " is not known: what the OS says was not read both at the start and at the end "
                    "of any process");
  } else if (without != 0) {
    notes.push_back(row.name + " leaves out " + count(without) + " of " + count(entries_.size()) +
                    " processes, as what the OS says was not read at their start or their end");
  }
  recording.meta.reconciliation.push_back(std::move(row));
}

size_t OsLedger::without_figures() const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [](const auto& pair) {
    return !pair.second.start || !pair.second.end;
  }));
}

size_t OsLedger::approximate() const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [](const auto& pair) {
    return pair.second.is_approximate;
  }));
}

int64_t OsLedger::captured(const Recording& recording, size_t column) const {
  int64_t sum = 0;
  for (const Aggregate& row : recording.sums)
    if (has_figures(recording.stacks[row.stack.index].space)) sum += row.values[column];
  return sum;
}

std::vector<pid_t> OsLedger::pids() const {
  std::vector<pid_t> pids;
  for (const auto& [id, entry] : entries_)
    if (std::find(pids.begin(), pids.end(), entry.pid) == pids.end()) pids.push_back(entry.pid);
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
