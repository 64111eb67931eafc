// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/looks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "probes/processes/processes.h"
#include "probes/run/run_figures.h"
#include "probes/stacks/rows.h"
#include "probes/stacks/stack_log.h"

namespace memflame {
namespace {

// Stands for all stacks whose announcements are missing: an announcement that was dropped is sent
// again with the stack's next event, and then the stack has a track of its own.
constexpr uint64_t unknown_key = UINT64_MAX;

struct BirthKey {
  uint64_t key = 0;
  uint32_t stretch = 0;
  friend bool operator==(const BirthKey&, const BirthKey&) = default;
};
struct BirthHash {
  size_t operator()(const BirthKey& at) const { return at.key ^ (at.stretch * 0x9e3779b97f4a7c15); }
};

std::vector<int64_t> read_gauges(const Processes& processes) {
  const std::optional<OsMemory> memory = processes.os().last_reading();
  const auto figure = [&](int64_t value) { return memory ? value : no_reading; };
  const OsMemory now = memory.value_or(OsMemory{});
  const std::optional<double> pressure = processes.memory_pressure();
  return {figure(now.rss()),
          figure(now.rss_anon),
          figure(now.rss_file),
          figure(now.rss_shmem),
          processes.pss_bytes().value_or(no_reading),
          figure(now.swap),
          figure(now.vm_size),
          figure(now.heap),
          processes.cgroup_bytes().value_or(no_reading),
          pressure ? std::llround(*pressure * 100) : no_reading};
}

// Where something new stands in a table: in a place that is free, or at the end.
template <class Id, class Entry>
Id place_for(Entry entry, std::vector<Id>& free, std::vector<Entry>& table) {
  if (free.empty()) {
    table.push_back(std::move(entry));
    return Id{static_cast<uint32_t>(table.size() - 1)};
  }
  const Id id = free.back();
  free.pop_back();
  table[id.index] = std::move(entry);
  return id;
}

}  // namespace

std::vector<Gauge> os_gauges() {
  return {{std::string(resident_gauge)},
          {"resident, anonymous"},
          {"resident, files"},
          {"resident, shared"},
          {"PSS"},
          {"swapped out"},
          {"virtual"},
          {"[heap]"},
          {std::string(cgroup_gauge)},
          {"pressure, %", Unit::count, 2}};
}

std::vector<uint32_t> forget_stacks(std::vector<RawStackId>& places, const Leaving& leaving) {
  std::unordered_set<uint32_t> left;
  for (const Leaving::Stack& stack : leaving.stacks) left.insert(stack.from.index);
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < places.size(); ++i) {
    if (!places[i] || !left.contains(places[i].index)) continue;
    places[i] = {};
    numbers.push_back(i);
  }
  return numbers;
}

// Keeps the figures until the records that announce their stacks are read.
class Looks::Collector : public Rows {
 public:
  explicit Collector(const StackLog& log) : Rows(log) {}
  void add(uint64_t key, const std::string& group, const std::vector<int64_t>& values, int64_t,
           const std::string& leaf) override {
    figures.push_back({key, group, leaf, first, values});
  }
  std::vector<Figures> figures;
  size_t first = 0;  // column of the probe whose figures come
};

Looks::Looks(std::vector<ProbeTypes> types, uint64_t start_ns)
    : types_(std::move(types)), start_ns_(start_ns) {
  for (const ProbeTypes& probe : types_) columns_ += probe.types.size();
}

Look Looks::take(RunFigures& figures, History& history, bool survey) {
  const uint64_t now_ns = std::max(monotonic_ns(), start_ns_);
  figures.catch_up();  // the figures of copied stacks come as records
  Look look;
  look.time_ns = now_ns - start_ns_;
  look.gauges = read_gauges(figures.processes());
  Collector collector(figures.stacks());
  for (size_t i = 0; i < types_.size(); ++i) {
    figures.add_figures(i, types_[i].types, collector);
    collector.first += types_[i].types.size();
  }
  figures.catch_up();  // a stack is announced before it has figures, so now all are known
  std::vector<int64_t> sums;
  for (const Figures& row : collector.figures) {
    const TrackId id = track(figures.stacks(), row, history);
    sums.resize(history.tracks.size() * columns_);
    int64_t* sum = &sums[id.index * columns_ + row.first];
    for (size_t i = 0; i < row.values.size(); ++i)
      if (__builtin_add_overflow(sum[i], row.values[i], &sum[i])) sum[i] = INT64_MAX;
  }
  sums.resize(history.tracks.size() * columns_);
  add_changes(std::move(sums), look);
  if (survey) add_survivors(figures, now_ns, look);
  add_ended(figures.processes().spaces(), now_ns, look);
  return look;
}

TrackId Looks::track_of(const StackLog& log, uint64_t key) const {
  const auto found = track_of_key_.find(log.known_as(key));
  return found == track_of_key_.end() ? TrackId{} : found->second;
}

uint64_t Looks::known_key(const StackLog& log, uint64_t key) {
  return log.find(key) != nullptr || key >> 63 == 0 ? log.known_as(key) : unknown_key;
}

RawStackId Looks::stack(const StackLog& log, uint64_t key, History& history,
                        const std::string& leaf) {
  const uint64_t known = known_key(log, key);
  RawStackId& stack = stacks_[known];
  if (!stack) {
    stack = place_for(log.stack_of(known), free_stacks_, history.recording.stacks);
    history.recording.stacks[stack.index].leaf = leaf;
  }
  return stack;
}

TrackId Looks::track(const StackLog& log, const Figures& figures, History& history) {
  const RawStackId stack = this->stack(log, figures.key, history, figures.leaf);
  TrackId& track = tracks_[{stack, figures.group}];
  if (!track) {
    const SpaceId space = history.recording.stacks[stack.index].space;
    track = place_for(Track{stack, space, figures.group}, free_tracks_, history.tracks);
    track_of_key_[known_key(log, figures.key)] = track;
    if (space && !ended_.contains(space.index)) living_.insert(space.index);
  }
  return track;
}

// What is known of these spaces; their places stay as they are.
Leaving Looks::take_out(const IsGone& is_gone, const History& history) {
  std::erase_if(ended_, [&](uint32_t space) { return is_gone(SpaceId{space}); });
  const auto is_track_gone = [&](const auto& entry) {
    return is_gone(history.tracks[entry.second.index].space);
  };
  std::erase_if(track_of_key_, is_track_gone);
  Leaving leaving;
  std::erase_if(tracks_, [&](const auto& entry) {
    if (!is_track_gone(entry)) return false;
    leaving.tracks.push_back(entry.second);
    return true;
  });
  std::erase_if(stacks_, [&](const auto& entry) {
    if (!is_gone(history.recording.stacks[entry.second.index].space)) return false;
    leaving.stacks.push_back({entry.second, {}});
    return true;
  });
  return leaving;
}

Leaving Looks::leave(const IsGone& is_gone, std::span<const StackMove> moves, const StackLog& log,
                     History& history) {
  std::unordered_map<uint32_t, RawStackId> into;
  for (const StackMove& move : moves) {
    const auto known = stacks_.find(move.from);
    if (known == stacks_.end()) continue;
    const RawStackId from = known->second;
    const std::string leaf = history.recording.stacks[from.index].leaf;
    into[from.index] = stack(log, move.to, history, leaf);
  }
  Leaving leaving = take_out(is_gone, history);
  for (Leaving::Stack& stack : leaving.stacks)
    if (const auto found = into.find(stack.from.index); found != into.end())
      stack.into = found->second;
  return leaving;
}

std::vector<TrackId> Looks::forget(const IsGone& is_gone, History& history) {
  Leaving leaving = take_out(is_gone, history);
  let_go(leaving, history);
  return std::move(leaving.tracks);
}

void Looks::let_go(const Leaving& leaving, History& history) {
  for (const Leaving::Stack& stack : leaving.stacks) {
    history.recording.stacks[stack.from.index] = {};
    free_stacks_.push_back(stack.from);
  }
  for (const TrackId track : leaving.tracks) {
    history.tracks[track.index] = {};
    std::fill_n(last_.begin() + static_cast<std::ptrdiff_t>(track.index * columns_), columns_, 0);
  }
  free_tracks_.insert(free_tracks_.end(), leaving.tracks.begin(), leaving.tracks.end());
}

void Looks::add_changes(std::vector<int64_t>&& sums, Look& look) {
  last_.resize(sums.size());
  for (size_t at = 0; at < sums.size(); at += columns_) {
    const std::span<const int64_t> now(&sums[at], columns_);
    if (std::equal(now.begin(), now.end(), &last_[at])) continue;
    const TrackId track{static_cast<uint32_t>(at / columns_)};
    look.rows.add(track, now);
  }
  last_ = std::move(sums);
}

void Looks::add_survivors(RunFigures& figures, uint64_t now_ns, Look& look) {
  std::unordered_map<BirthKey, Look::Cell, BirthHash> cells;
  figures.for_each_block([&](const bpf::block_key&, const bpf::block& block) {
    if (block.time_ns >= now_ns) return;  // came while the table was read: for the next survey
    const uint64_t born = block.time_ns - std::min(block.time_ns, start_ns_);
    const BirthKey at{figures.stacks().known_as(block.hash), stretches_.of(born)};
    Look::Cell& cell = cells[at];
    cell.bytes += static_cast<int64_t>(block.weight);
    cell.blocks += block.count;
    ++cell.samples;
  });
  look.stretches.assign(stretches_.starts().begin(), stretches_.starts().end());
  for (auto& [at, cell] : cells) {
    const auto track = track_of_key_.find(at.key);
    if (track == track_of_key_.end()) continue;  // its memory belongs to another stack: see place()
    cell.track = track->second;
    cell.stretch = at.stretch;
    look.cells.push_back(cell);
  }
  std::sort(look.cells.begin(), look.cells.end(), [](const Look::Cell& a, const Look::Cell& b) {
    return std::tuple(a.track, a.stretch) < std::tuple(b.track, b.stretch);
  });
  stretches_.begin(look.time_ns);
}

// A process that ends while the figures are read may have allocated more than they say: it ends in
// the next look, which has all that it left.
void Looks::add_ended(const Spaces& spaces, uint64_t now_ns, Look& look) {
  std::erase_if(living_, [&](uint32_t space) {
    if (!spaces.had_ended(SpaceId{space}, now_ns)) return false;
    ended_.insert(space);
    look.ended.push_back(SpaceId{space});
    return true;
  });
  std::sort(look.ended.begin(), look.ended.end());
}

}  // namespace memflame
