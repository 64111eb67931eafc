// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/spaces.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <set>
#include <string>

#include "probes/processes/perf_map.h"
#include "probes/processes/process_name.h"

namespace memflame {
namespace {

constexpr uint64_t keep_log_ns = 5'000'000'000;

}  // namespace

uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

Spaces::Watched& Spaces::watched(SpaceId id) {
  next_ = std::max(next_, id.index + 1);
  Watched& space = spaces_[id.index];
  space.id = id;
  return space;
}

const Spaces::Watched& Spaces::known(SpaceId id) const {
  static const Watched ended = [] {
    Watched space;
    space.ended = true;
    space.end_ns = 0;
    return space;
  }();
  const auto found = spaces_.find(id.index);
  return found == spaces_.end() ? ended : found->second;
}

void Spaces::adopt(SpaceId id, pid_t pid, uint64_t time_ns) {
  Watched& space = watched(id);
  set_pid(space, pid);
  space.space.comm = name_of_process(pid, read_comm(pid), "");
  space.space.from_ns = time_ns;
  current_[pid] = id;
  read_maps_of(space);
}

void Spaces::begin(const bpf::space_record& record) {
  const SpaceId id{record.space};
  const auto pid = static_cast<pid_t>(record.tgid);
  Watched& space = watched(id);
  set_pid(space, pid);
  space.space.comm =
      name_of_process(pid, {record.comm, ::strnlen(record.comm, sizeof(record.comm))}, "");
  space.space.from_ns = record.time;
  space.space.forked_from = SpaceId{record.parent_space};
  space.from_exec = record.reason == bpf::space_exec;
  ++space.changes;
  current_[pid] = id;
  add_seen(space);
  // A child has its parent's code until the log says otherwise; by now it may run another program.
  if (record.reason != bpf::space_fork) read_maps_of(space);
}

void Spaces::expect(SpaceId id, pid_t pid, const char* comm, uint64_t time_ns) {
  Watched& space = watched(id);
  // Threads and execs rename processes: the last name is the one people know.
  space.space.comm =
      name_of_process(pid, {comm, ::strnlen(comm, bpf::comm_length)}, space.space.comm);
  if (space.space.pid != 0) return;
  set_pid(space, pid);
  space.space.from_ns = time_ns;
  ++space.changes;
  // Announcements of spaces and their stacks do not come in order.
  SpaceId& now = current_[pid];
  if (!now || known(now).space.from_ns < time_ns) now = id;
  add_seen(space);
  read_maps_of(space);
}

void Spaces::end(SpaceId id, uint64_t time_ns) {
  Watched& space = watched(id);
  if (space.ended) return;
  take_perf_map(space);
  space.ended = true;
  space.end_ns = time_ns;
  const auto pid = static_cast<pid_t>(space.space.pid);
  if (const auto now = current_.find(pid); now != current_.end() && now->second == id)
    current_.erase(now);
  ended_.emplace_back(time_ns, id);
  settle_ended(time_ns);
}

void Spaces::set_pid(Watched& space, pid_t pid) {
  if (space.space.pid == 0 && !space.ended) ++unsettled_[pid];
  space.space.pid = static_cast<uint32_t>(pid);
}

void Spaces::take(const SidebandRecord& record) {
  const auto now = current_.find(record.pid);
  if (record.kind == SidebandRecord::Kind::exit) {
    // This log and BPF's records arrive independently: a process that is long gone here may be
    // announced there only later. Its log is therefore kept for some seconds.
    settle_ended(record.time_ns);
    exited_.emplace_back(record.time_ns, record.pid);
    while (!exited_.empty() && exited_.front().first + keep_log_ns < record.time_ns) {
      const auto [time, pid] = exited_.front();
      exited_.pop_front();
      if (!unsettled_.contains(pid)) forget_log(pid, time);
    }
    return;
  }
  Seen seen;
  seen.time_ns = record.time_ns;
  seen.is_exec = record.kind == SidebandRecord::Kind::exec;
  if (!seen.is_exec) {
    MapsLine line;
    line.device = record.device;
    line.inode = record.inode;
    line.generation = record.generation;
    line.path = record.path;
    seen.mapping = {.start = record.start,
                    .end = record.end,
                    .offset = record.offset,
                    .module = modules_.intern(line),
                    .from_ns = record.time_ns};
  }
  seen_[record.pid].push_back(seen);
  if (now != current_.end() && !seen.is_exec) add_mapping(watched(now->second), seen.mapping);
}

// The log of a pid reaches back to before its space was known: take over what belongs to it.
void Spaces::add_seen(Watched& space) {
  const auto log = seen_.find(static_cast<pid_t>(space.space.pid));
  if (log == seen_.end()) return;
  uint64_t begin = space.from_exec ? 0 : space.space.from_ns;
  for (const Seen& seen : log->second)
    if (seen.is_exec && seen.time_ns <= space.space.from_ns) begin = std::max(begin, seen.time_ns);
  for (const Seen& seen : log->second)
    if (!seen.is_exec && seen.time_ns >= begin && seen.time_ns <= space.end_ns)
      add_mapping(space, seen.mapping);
}

// Whether its process runs another program by now. The kernel logs an exec before it lets anybody
// read the new program's mappings.
bool Spaces::is_replaced(const Watched& space) const {
  const auto log = seen_.find(static_cast<pid_t>(space.space.pid));
  return log != seen_.end() &&
         std::any_of(log->second.begin(), log->second.end(), [&](const Seen& seen) {
           return seen.is_exec && seen.time_ns > space.space.from_ns;
         });
}

// Takes over the log of spaces that ended some seconds ago, which then is not needed any more.
void Spaces::settle_ended(uint64_t now_ns) {
  while (!ended_.empty() && ended_.front().first + keep_log_ns < now_ns) {
    const auto [time, id] = ended_.front();
    ended_.pop_front();
    settled_.push_back(id);
    Watched& space = watched(id);
    const auto pid = static_cast<pid_t>(space.space.pid);
    const auto waiting = unsettled_.find(pid);
    if (waiting == unsettled_.end()) continue;
    add_seen(space);
    if (--waiting->second == 0) unsettled_.erase(waiting);
    forget_log(pid, time);
  }
}

void Spaces::forget_log(pid_t pid, uint64_t until_ns) {
  const auto log = seen_.find(pid);
  if (log == seen_.end()) return;
  std::erase_if(log->second, [until_ns](const Seen& seen) { return seen.time_ns <= until_ns; });
  if (log->second.empty()) seen_.erase(log);
}

std::vector<SpaceId> Spaces::changed() {
  for (const SpaceId id : changed_)
    if (is_known(id)) watched(id).changed = false;
  return std::exchange(changed_, {});
}

std::vector<ModuleId> Spaces::modules_of(pid_t pid) {
  std::vector<ModuleId> ids;
  const std::optional<std::vector<MapsLine>> lines = read_maps(pid);
  if (!lines) return ids;
  for (const MapsLine& line : *lines) {
    if (!line.executable) continue;
    ids.push_back(modules_.intern(line));
    ids.back() = modules_.open(ids.back(), pid, line.start, line.end);
  }
  return ids;
}

void Spaces::take_perf_map(Watched& space) {
  if (space.has_anonymous_code && !space.ended)
    space.space.perf_map = perf_map_of(static_cast<pid_t>(space.space.pid));
}

void Spaces::settle() {
  for (auto& [number, space] : spaces_)
    if (space.space.pid != 0) add_seen(space);
}

void Spaces::sort_mappings(Space& space) {
  std::stable_sort(space.mappings.begin(), space.mappings.end(),
                   [](const Mapping& a, const Mapping& b) { return a.from_ns < b.from_ns; });
}

// A frame that all stacks have says nothing.
void Spaces::tell_cgroups_apart(Paged<Space>& spaces) {
  std::set<std::string> cgroups;
  for (const Space& space : std::as_const(spaces))
    if (space.pid != 0) cgroups.insert(space.cgroup);
  for (size_t i = 0; i < spaces.size(); ++i) {
    if (!spaces.is_used(i)) continue;
    Space& space = spaces[i];
    if (cgroups.size() < 2)
      space.cgroup.clear();
    else if (space.cgroup.empty() && (space.pid != 0 || !space.comm.empty()))
      space.cgroup = "[unknown cgroup]";
  }
}

void Spaces::copy_to(Recording& recording, bool perf_maps) const {
  recording.modules = modules_.all();
  recording.scripts = scripts_.all();
  recording.spaces = Paged<Space>(next_);
  for (auto [number, space] : spaces_) {
    if (perf_maps && space.space.pid != 0 && !space.ended) take_perf_map(space);
    sort_mappings(space.space);
    recording.spaces[number] = std::move(space.space);
  }
  tell_cgroups_apart(recording.spaces);
}

void Spaces::finish(Recording& recording) {
  for (auto& [number, space] : spaces_) {
    if (space.space.pid != 0 && !space.ended) take_perf_map(space);
    sort_mappings(space.space);
  }
  recording.modules = modules_.release();
  recording.scripts = scripts_.all();
  recording.spaces = Paged<Space>(next_);
  for (auto& [number, space] : spaces_) recording.spaces[number] = std::move(space.space);
  tell_cgroups_apart(recording.spaces);
}

}  // namespace memflame
