// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/snapshot.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "probes/options/variance.h"
#include "probes/processes/processes.h"
#include "probes/run/run_figures.h"
#include "probes/stacks/stack_log.h"

namespace memflame {
namespace {

using ByStack = std::unordered_map<uint64_t, LiveStack>;

// The same estimate as in the BPF programs: alloc/bpf/sampling.h.
Amount amount_of(const bpf::block& block) {
  const auto weight = static_cast<double>(block.weight);
  const auto size = static_cast<double>(block.size);
  const double count = block.count;
  return {static_cast<int64_t>(block.weight), block.count, weight * (weight - size),
          count * (count - 1)};
}

// For probes that follow blocks, the first two columns of a sum are live bytes and live blocks.
Amount amount_of(const int64_t* sum) {
  return {sum[0], sum[1], static_cast<double>(sum[bpf::first_variance]) * variance_unit,
          static_cast<double>(sum[bpf::first_variance + 1])};
}

// What the scan of its process says of a block.
struct Judgement {
  Reach reach = Reach::unknown;
  bool is_exact = true;
  std::string_view why_not;
};

Judgement judgement_of(const RunFigures& figures, const bpf::block_key& key) {
  const auto scan = figures.scans()->find(SpaceId{key.space});
  if (scan == figures.scans()->end())
    return {.why_not = figures.processes().spaces().has_ended(SpaceId{key.space})
                           ? "the process had ended"
                           : "the process was not scanned"};
  const Reach reach = scan->second.of(key.address);
  const ScanFacts& facts = scan->second.facts;
  return {reach, facts.is_exact,
          reach != Reach::unknown  ? ""
          : !facts.why_not.empty() ? std::string_view(facts.why_not)
                                   : "allocated after the scan"};
}

void add(ReachSums& sums, const Judgement& judgement, const Amount& amount) {
  sums.add(judgement.reach, {amount.bytes, amount.blocks});
  if (judgement.reach == Reach::reachable) sums.is_exact = sums.is_exact && judgement.is_exact;
  if (judgement.reach == Reach::unknown && sums.why_unknown.empty())
    sums.why_unknown = judgement.why_not;
}

// Blocks that an ended process has not freed count as old at any age.
ByStack from_blocks(RunFigures& figures, const SnapshotOptions& options, uint64_t now) {
  figures.catch_up();  // has_ended() needs the records of processes that ended
  const Spaces& spaces = figures.processes().spaces();
  ByStack stacks;
  const StackLog& log = figures.stacks();
  figures.for_each_block([&](const bpf::block_key& key, const bpf::block& block) {
    // Many ended processes may have left theirs in one: so a snapshot does not grow with them.
    LiveStack& stack = stacks[log.known_as(block.hash)];
    const Amount amount = amount_of(block);
    const uint64_t age = now - std::min(now, block.time_ns);
    stack.live += amount;
    Judgement judgement;
    if (figures.scans() != nullptr) {
      judgement = judgement_of(figures, key);
      add(stack.live_reach, judgement, amount);
    }
    const bool is_left = figures.has_spaces() && spaces.has_ended(SpaceId{key.space});
    if (age < options.older_ns && !is_left) return;
    stack.old += amount;
    if (figures.scans() != nullptr) add(stack.old_reach, judgement, amount);
    if (options.blocks) stack.blocks.push_back({key.address, block.size, age, judgement.reach});
  });
  return stacks;
}

ByStack from_sums(RunFigures& figures) {
  ByStack stacks;
  figures.for_each_sum([&](uint64_t key, const int64_t* sum) {
    stacks[key].live += amount_of(sum);
    stacks[key].old = stacks[key].live;
  });
  return stacks;
}

void append(std::vector<SnapshotBlock>& into, std::vector<SnapshotBlock>&& blocks) {
  into.insert(into.end(), blocks.begin(), blocks.end());
}

// Merges copies of the same stack.
ByStack without_copies(const StackLog& log, ByStack&& stacks) {
  ByStack merged;
  for (auto& [key, stack] : stacks) {
    LiveStack& into = merged[log.known_as(key)];
    into.live += stack.live;
    into.old += stack.old;
    into.live_reach += stack.live_reach;
    into.old_reach += stack.old_reach;
    append(into.blocks, std::move(stack.blocks));
  }
  return merged;
}

int64_t as_column(double value) {
  return static_cast<int64_t>(std::clamp(std::round(value), 0.0, 9.2e18));
}

}  // namespace

Amount& Amount::operator+=(const Amount& other) {
  bytes += other.bytes;
  blocks += other.blocks;
  bytes_variance += other.bytes_variance;
  blocks_variance += other.blocks_variance;
  return *this;
}

Snapshot take_snapshot(RunFigures& figures, const SnapshotOptions& options) {
  Snapshot snapshot;
  snapshot.time_ns = monotonic_ns();
  const bool by_blocks = options.older_ns != 0 || options.blocks || figures.scans() != nullptr;
  ByStack found = by_blocks ? from_blocks(figures, options, snapshot.time_ns) : from_sums(figures);
  figures.catch_up();  // a stack is announced before it has blocks, so now all are known
  for (auto& [key, stack] : without_copies(figures.stacks(), std::move(found))) {
    if (stack.live.bytes == 0 && stack.live.blocks == 0) continue;
    stack.key = key;
    stack.stack = figures.stacks().stack_of(key);
    if (!figures.place(key, stack.stack, stack.group)) continue;
    if (figures.processes().spaces().has_ended(stack.stack.space))
      snapshot.ended.insert(stack.stack.space);
    snapshot.live += stack.live;
    snapshot.old += stack.old;
    snapshot.stacks.push_back(std::move(stack));
  }
  snapshot.is_scanned = figures.scans() != nullptr;
  if (figures.scans() != nullptr)
    for (const auto& [space, scan] : *figures.scans()) snapshot.scanned.push_back(scan.facts);
  snapshot.sampled = figures.is_sampled();
  snapshot.sampling = figures.sampling_in_words();
  snapshot.unseen_frees = figures.unseen_frees();
  snapshot.deaths = figures.processes().deaths().notes();
  return snapshot;
}

void show_live(Recording& recording, std::span<const LiveStack* const> stacks, bool by_count,
               bool sampled) {
  recording.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  recording.shown = by_count ? 1 : 0;
  if (sampled) {
    recording.types[0].variance = 2;
    recording.types[0].variance_unit = variance_unit;
    recording.types[1].variance = 3;
    recording.types.push_back({"live variance", Unit::variance});
    recording.types.push_back({"live-count variance", Unit::variance});
  }
  recording.sums.clear();
  // Other stacks matter only if candidates refer to them.
  if (recording.candidates.empty()) recording.stacks.assign(1, RawStack{});
  for (const LiveStack* stack : stacks) {
    if (stack->old.bytes == 0 && stack->old.blocks == 0) continue;
    std::vector<int64_t> values{stack->old.bytes, stack->old.blocks};
    if (sampled) {
      values.push_back(as_column(stack->old.bytes_variance / variance_unit));
      values.push_back(as_column(stack->old.blocks_variance));
    }
    recording.sums.push_back({RawStackId{static_cast<uint32_t>(recording.stacks.size())},
                              stack->group, std::move(values), stack->old.blocks});
    recording.stacks.push_back(stack->stack);
  }
}

}  // namespace memflame
