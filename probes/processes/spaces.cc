// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/spaces.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <string>

#include "probes/processes/perf_map.h"
#include "probes/processes/process_name.h"

namespace memflame {
namespace {

constexpr uint64_t reread_interval_ns = 50'000'000;
constexpr uint64_t keep_log_ns = 5'000'000'000;
constexpr size_t most_code_kept = 1024;  // results of code_of()

}  // namespace

uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

std::vector<Mapping> overlay(std::span<const Mapping* const> newest_first) {
  std::map<uint64_t, Mapping> visible;  // by start
  for (const Mapping* mapping : newest_first) {
    uint64_t at = mapping->start;
    const auto add = [&](uint64_t end) {
      if (at >= end) return;
      Mapping part = *mapping;
      part.offset += at - mapping->start;
      part.start = at;
      part.end = end;
      visible.emplace(at, part);
    };
    auto next = visible.upper_bound(at);
    if (next != visible.begin()) at = std::max(at, std::prev(next)->second.end);
    for (; next != visible.end() && next->first < mapping->end; ++next) {
      add(next->first);
      at = std::max(at, next->second.end);
    }
    add(mapping->end);
  }
  std::vector<Mapping> list;
  list.reserve(visible.size());
  for (const auto& [start, mapping] : visible) list.push_back(mapping);
  return list;
}

Spaces::Watched& Spaces::watched(SpaceId id) {
  if (spaces_.size() <= id.index) spaces_.resize(id.index + 1);
  spaces_[id.index].id = id;
  return spaces_[id.index];
}

void Spaces::adopt(SpaceId id, pid_t pid, uint64_t time_ns) {
  Watched& space = watched(id);
  space.space.pid = static_cast<uint32_t>(pid);
  space.space.comm = name_of_process(pid, read_comm(pid), "");
  space.space.from_ns = time_ns;
  current_[pid] = id;
  read_maps_of(space);
}

void Spaces::begin(const bpf::space_record& record) {
  const SpaceId id{record.space};
  const auto pid = static_cast<pid_t>(record.tgid);
  Watched& space = watched(id);
  space.space.pid = record.tgid;
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
  space.space.pid = static_cast<uint32_t>(pid);
  space.space.from_ns = time_ns;
  ++space.changes;
  // News of processes is not taken in the order of their stacks.
  SpaceId& now = current_[pid];
  if (!now || spaces_[now.index].space.from_ns < time_ns) now = id;
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
}

void Spaces::take(const SidebandRecord& record) {
  const auto now = current_.find(record.pid);
  if (record.kind == SidebandRecord::Kind::exit) {
    // This log and BPF's records come on different ways: a process that is long gone here may only
    // be about to be announced there. Logs are forgotten some seconds later.
    exited_.emplace_back(record.time_ns, record.pid);
    while (!exited_.empty() && exited_.front().first + keep_log_ns < record.time_ns) {
      const auto [time, pid] = exited_.front();
      exited_.pop_front();
      if (const auto log = seen_.find(pid); log != seen_.end() && !is_watched(pid))
        std::erase_if(log->second, [end = time](const Seen& seen) { return seen.time_ns <= end; });
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

bool Spaces::is_watched(pid_t pid) const {
  return std::any_of(spaces_.begin(), spaces_.end(), [pid](const Watched& space) {
    return space.space.pid == static_cast<uint32_t>(pid);
  });
}

void Spaces::add_mapping(Watched& space, const Mapping& mapping) {
  modules_.open(mapping.module, static_cast<pid_t>(space.space.pid), mapping.start, mapping.end);
  const bool anonymous = modules_[mapping.module].kind == ModuleKind::anonymous;
  if (anonymous) space.has_anonymous_code = true;
  // Programs that make code map and protect it piece by piece: what lies within is nothing new.
  std::vector<Mapping>& mappings = space.space.mappings;
  const auto known = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& m) {
    if (m.module != mapping.module || m.until_ns != UINT64_MAX) return false;
    if (anonymous) return m.start <= mapping.start && mapping.end <= m.end;
    return m.start == mapping.start && m.end == mapping.end && m.offset == mapping.offset;
  });
  if (known != mappings.end() && !is_overlaid(space, mapping)) {
    // What was read from /proc first may have been there for longer, unless something else was
    // there in between: then this is an older record of a library that has come back.
    const bool came_back = std::any_of(mappings.begin(), mappings.end(), [&](const Mapping& m) {
      return m.module != mapping.module && m.start < mapping.end && mapping.start < m.end &&
             m.from_ns >= mapping.from_ns && m.from_ns <= known->from_ns;
    });
    if (came_back || known->from_ns <= mapping.from_ns) return;
    known->from_ns = mapping.from_ns;
    ++space.changes;
    return;
  }
  if (anonymous)
    std::erase_if(mappings, [&](const Mapping& m) {
      return m.module == mapping.module && mapping.start <= m.start && m.end <= mapping.end;
    });
  mappings.push_back(mapping);
  mark_changed(space);
}

// Has a later mapping taken a part of this one's addresses?
bool Spaces::is_overlaid(const Watched& space, const Mapping& mapping) {
  for (auto m = space.space.mappings.rbegin(); m != space.space.mappings.rend(); ++m)
    if (m->until_ns == UINT64_MAX && m->start < mapping.end && mapping.start < m->end)
      return m->module != mapping.module || m->start > mapping.start || m->end < mapping.end;
  return false;
}

void Spaces::mark_changed(Watched& space) {
  ++space.changes;
  if (!space.changed) changed_.push_back(space.id);
  space.changed = true;
}

std::vector<SpaceId> Spaces::changed() {
  for (const SpaceId id : changed_) spaces_[id.index].changed = false;
  return std::exchange(changed_, {});
}

// Is its process another program by now? The kernel logs an exec before it lets anybody read the
// new program's mappings.
bool Spaces::is_replaced(const Watched& space) const {
  const auto log = seen_.find(static_cast<pid_t>(space.space.pid));
  return log != seen_.end() &&
         std::any_of(log->second.begin(), log->second.end(), [&](const Seen& seen) {
           return seen.is_exec && seen.time_ns > space.space.from_ns;
         });
}

void Spaces::read_maps_of(Watched& space) {
  space.last_read_ns = monotonic_ns();
  const auto pid = static_cast<pid_t>(space.space.pid);
  const std::optional<std::vector<MapsLine>> lines = read_maps(pid);
  const uint64_t looked_ns = monotonic_ns();
  if (catch_up_with_log_) catch_up_with_log_();
  if (!lines || is_replaced(space)) return;
  const uint64_t read_ns = monotonic_ns();
  // Mappings read before any stack was taken count from the beginning of the space.
  const uint64_t from = space.space.mappings.empty() ? 0 : space.last_read_ns;
  std::vector<Mapping> now;
  for (const MapsLine& line : *lines)
    if (line.executable)
      now.push_back({.start = line.start,
                     .end = line.end,
                     .offset = line.offset,
                     .module = modules_.intern(line),
                     .from_ns = from});
  // What was mapped and is no longer there was unmapped, which no log says.
  for (Mapping& old : space.space.mappings) {
    const bool there = std::any_of(now.begin(), now.end(), [&](const Mapping& m) {
      return m.module == old.module && m.start < old.end && old.start < m.end;
    });
    if (there || old.until_ns != UINT64_MAX || old.from_ns >= space.last_read_ns) continue;
    old.until_ns = read_ns;  // not before its last stacks
    mark_changed(space);
  }
  for (Mapping& mapping : now) {
    // Where something else was, the log, or what BPF tells of moves, is more exact than this look.
    uint64_t other_from = 0;
    bool other = false;
    for (const Mapping& m : space.space.mappings) {
      if (m.module == mapping.module || m.start >= mapping.end || mapping.start >= m.end ||
          m.until_ns <= space.last_read_ns)
        continue;
      other = true;
      other_from = std::max(other_from, m.from_ns);
    }
    if (other && other_from >= space.last_read_ns) continue;
    if (other) mapping.from_ns = looked_ns;
    add_mapping(space, mapping);
  }
}

void Spaces::read_again(SpaceId id, uint64_t time_ns) {
  Watched& space = watched(id);
  if (space.ended)
    add_seen(space);
  else if (space.last_read_ns < time_ns)
    read_maps_of(space);
}

void Spaces::move(SpaceId id, const bpf::move_record& move) {
  const uint64_t end = move.from + move.size;
  // Nearly all that is moved is not code, which is in some mapping that is known.
  const auto touches = [&](const Mapping& m) { return m.start < end && move.from < m.end; };
  if (catch_up_with_log_) catch_up_with_log_();
  std::vector<Mapping> moved;
  for (const Mapping& mapping : code_of(id, move.time))
    if (touches(mapping)) moved.push_back(mapping);
  if (moved.empty()) return;
  Watched& space = watched(id);
  for (Mapping& old : space.space.mappings)
    if (old.start >= move.from && old.end <= end && old.from_ns <= move.time &&
        old.until_ns == UINT64_MAX)
      old.until_ns = move.time;
  for (Mapping& mapping : moved) {
    const uint64_t cut = std::max(mapping.start, move.from) - mapping.start;
    mapping.end = std::min(mapping.end, end) - move.from + move.to;
    mapping.start = mapping.start + cut - move.from + move.to;
    mapping.offset += cut;
    mapping.from_ns = move.time;
    mapping.until_ns = UINT64_MAX;
    // The log may tell of what came later already; of two the one behind counts.
    std::vector<Mapping>& all = space.space.mappings;
    const auto last = std::find_if(all.rbegin(), all.rend(),
                                   [&](const Mapping& m) { return m.from_ns <= move.time; });
    all.insert(last.base(), mapping);
  }
  mark_changed(space);
}

// Bounded, also below: a chain of forks is as long as there were processes.
uint64_t Spaces::changes_of(SpaceId id) const {
  uint64_t changes = 0;
  for (int hops = 0; hops < 1024 && id && id.index < spaces_.size(); ++hops) {
    changes += spaces_[id.index].changes;
    id = spaces_[id.index].space.forked_from;
  }
  return changes;
}

const std::vector<Mapping>& Spaces::code_of(SpaceId id, uint64_t time_ns) {
  const uint64_t changes = changes_of(id);
  if (code_.size() >= most_code_kept && !code_.contains(id.index)) code_.clear();
  CodeThen& kept = code_[id.index];
  if (kept.changes != changes || time_ns < kept.from_ns || time_ns >= kept.until_ns) {
    kept = look_up_code(id, time_ns);
    kept.changes = changes;
  }
  return kept.code;
}

Spaces::CodeThen Spaces::look_up_code(SpaceId id, uint64_t time_ns) const {
  CodeThen result;
  result.until_ns = UINT64_MAX;
  const uint64_t wanted_ns = time_ns;
  uint64_t born_ns = UINT64_MAX;  // what comes to a parent after the fork is not the child's
  const auto limit = [&](uint64_t at) {
    if (at <= wanted_ns)
      result.from_ns = std::max(result.from_ns, at);
    else if (at <= born_ns)
      result.until_ns = std::min(result.until_ns, at);
  };
  std::vector<const Mapping*> then;
  std::vector<const Mapping*> later;  // what the log has missed may have been there before
  // A child begins with its parent's code.
  for (int hops = 0; hops < 1024 && id && id.index < spaces_.size(); ++hops) {
    const Space& space = spaces_[id.index].space;
    for (auto m = space.mappings.rbegin(); m != space.mappings.rend(); ++m) {
      limit(m->from_ns);
      limit(m->until_ns);
      if (m->until_ns <= time_ns) continue;
      (m->from_ns <= time_ns ? then : later).push_back(&*m);
    }
    time_ns = std::min(time_ns, space.from_ns);
    born_ns = std::min(born_ns, space.from_ns);
    id = space.forked_from;
  }
  then.insert(then.end(), later.begin(), later.end());
  result.code = overlay(then);
  return result;
}

const Mapping* Spaces::find(SpaceId id, uint64_t address) const {
  for (int hops = 0; hops < 1024 && id && id.index < spaces_.size(); ++hops) {
    const Space& space = spaces_[id.index].space;
    for (auto m = space.mappings.rbegin(); m != space.mappings.rend(); ++m)
      if (address >= m->start && address < m->end) return &*m;
    id = space.forked_from;
  }
  return nullptr;
}

void Spaces::learn(SpaceId id, std::span<const Pc> pcs) {
  Watched& space = watched(id);
  if (space.ended || monotonic_ns() - space.last_read_ns < reread_interval_ns) return;
  const bool unknown = std::any_of(pcs.begin(), pcs.end(),
                                   [&](const Pc& pc) { return find(id, pc.addr) == nullptr; });
  if (unknown) read_maps_of(space);
}

std::vector<SpaceId> Spaces::with_code(std::span<const Mapping> code) const {
  std::vector<bool> wanted(modules_.size());
  for (const Mapping& mapping : code) wanted[mapping.module.index] = true;
  std::vector<SpaceId> found;
  for (const Watched& space : spaces_)
    if (!space.ended && std::any_of(space.space.mappings.begin(), space.space.mappings.end(),
                                    [&](const Mapping& m) { return wanted[m.module.index]; }))
      found.push_back(space.id);
  return found;
}

std::vector<ModuleId> Spaces::modules_of(pid_t pid) {
  std::vector<ModuleId> ids;
  const std::optional<std::vector<MapsLine>> lines = read_maps(pid);
  if (!lines) return ids;
  for (const MapsLine& line : *lines) {
    if (!line.executable) continue;
    ids.push_back(modules_.intern(line));
    modules_.open(ids.back(), pid, line.start, line.end);
  }
  return ids;
}

void Spaces::take_perf_map(Watched& space) {
  if (space.has_anonymous_code && !space.ended)
    space.space.perf_map = perf_map_of(static_cast<pid_t>(space.space.pid));
}

void Spaces::settle() {
  for (Watched& space : spaces_)
    if (space.space.pid != 0) add_seen(space);
}

void Spaces::sort_mappings(Space& space) {
  std::stable_sort(space.mappings.begin(), space.mappings.end(),
                   [](const Mapping& a, const Mapping& b) { return a.from_ns < b.from_ns; });
}

// A frame that all stacks have says nothing.
void Spaces::tell_cgroups_apart(std::vector<Space>& spaces) {
  std::set<std::string> cgroups;
  for (const Space& space : spaces)
    if (space.pid != 0) cgroups.insert(space.cgroup);
  for (Space& space : spaces)
    if (cgroups.size() < 2)
      space.cgroup.clear();
    else if (space.cgroup.empty())
      space.cgroup = "[unknown cgroup]";
}

void Spaces::copy_to(Recording& recording) const {
  recording.modules = modules_.all();
  recording.spaces.clear();
  for (Watched space : spaces_) {
    if (space.space.pid != 0 && !space.ended) take_perf_map(space);
    sort_mappings(space.space);
    recording.spaces.push_back(std::move(space.space));
  }
  tell_cgroups_apart(recording.spaces);
}

void Spaces::finish(Recording& recording) {
  for (Watched& space : spaces_) {
    if (space.space.pid != 0 && !space.ended) take_perf_map(space);
    sort_mappings(space.space);
  }
  recording.modules = modules_.release();
  recording.spaces.clear();
  for (Watched& space : spaces_) recording.spaces.push_back(std::move(space.space));
  tell_cgroups_apart(recording.spaces);
}

}  // namespace memflame
