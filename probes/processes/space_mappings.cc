// SPDX-License-Identifier: BSD-2-Clause
// Spaces: changes of a space's mappings, by the log, by /proc and by mremap().
#include <algorithm>
#include <optional>

#include "probes/processes/spaces.h"

namespace memflame {
namespace {

constexpr uint64_t reread_interval_ns = 50'000'000;

}  // namespace

void Spaces::add_mapping(Watched& space, Mapping mapping) {
  mapping.module = modules_.open(mapping.module, static_cast<pid_t>(space.space.pid), mapping.start,
                                 mapping.end, mapping.from_ns);
  const bool anonymous = modules_[mapping.module].kind == ModuleKind::anonymous;
  if (anonymous) space.has_anonymous_code = true;
  // Programs that generate code map and protect it piece by piece: a piece of a known mapping is
  // not new.
  std::vector<Mapping>& mappings = space.space.mappings;
  const auto known = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& m) {
    if (m.module != mapping.module || m.until_ns != UINT64_MAX) return false;
    if (anonymous) return m.start <= mapping.start && mapping.end <= m.end;
    return m.start == mapping.start && m.end == mapping.end && m.offset == mapping.offset;
  });
  if (known != mappings.end() && !is_overlaid(space, mapping)) {
    // A mapping that was read from /proc may have been there for longer, as this record shows. But
    // if another mapping was there in between, this is an older record of a library that has come
    // back.
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
  note_turn(space, mapping);
  mark_changed(space);
}

// Whether a later mapping has taken a part of this one's addresses.
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
  // Mappings that are no longer there were unmapped, which no log reports.
  for (Mapping& old : space.space.mappings) {
    const bool there = std::any_of(now.begin(), now.end(), [&](const Mapping& m) {
      return m.module == old.module && m.start < old.end && old.start < m.end;
    });
    if (there || old.until_ns != UINT64_MAX || old.from_ns >= space.last_read_ns) continue;
    old.until_ns = read_ns;  // not before its last stacks
    mark_changed(space);
  }
  for (Mapping& mapping : now) {
    // Where another mapping was, the log and BPF's records of moves are more exact than /proc.
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

void Spaces::learn(SpaceId id, std::span<const Pc> pcs) {
  Watched& space = watched(id);
  if (space.ended || monotonic_ns() - space.last_read_ns < reread_interval_ns) return;
  const bool unknown = std::any_of(pcs.begin(), pcs.end(), [&](const Pc& pc) {
    return !is_script(pc) && find(id, pc.addr) == nullptr;
  });
  if (unknown) read_maps_of(space);
}

void Spaces::move(SpaceId id, const bpf::move_record& move) {
  const uint64_t end = move.from + move.size;
  // Nearly all memory that is moved is not code; code lies in a known mapping.
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
    // The log may already have reported later mappings. The last of two in this list counts, so
    // this one goes before those.
    std::vector<Mapping>& all = space.space.mappings;
    const auto last = std::find_if(all.rbegin(), all.rend(),
                                   [&](const Mapping& m) { return m.from_ns <= move.time; });
    all.insert(last.base(), mapping);
    note_turn(space, mapping);
  }
  mark_changed(space);
}

}  // namespace memflame
