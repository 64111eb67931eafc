// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/marks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

#include "collapse/history/stack_labels.h"
#include "collapse/verdicts/suppressions.h"
#include "core/hash.h"

namespace memflame {
namespace {

constexpr size_t most_judged = 4096, most_drawn = 10;
// What short runs leave says little: programs set things up, and do not undo it.
constexpr double least_watched_s = 3;
constexpr double mostly_freed = 0.5;
constexpr int64_t least_blocks = 8, least_bytes = 4096;

uint64_t hash_of(const RawStack& stack) {
  uint64_t hash = mix(stack.space.index, stack.pcs.size());
  for (const Pc& pc : stack.pcs) hash = mix(hash, pc.addr);
  hash = mix(hash, std::hash<std::string>{}(stack.note));
  return mix(hash, std::hash<std::string>{}(stack.leaf));
}

bool is_same(const RawStack& a, const RawStack& b) {
  return a.space == b.space && a.pcs == b.pcs && a.kernel_pcs == b.kernel_pcs && a.stop == b.stop &&
         a.note == b.note && a.leaf == b.leaf;
}

// Tracks by what their stacks are made of.
class TrackIndex {
 public:
  explicit TrackIndex(const JudgedRun& run) : run_(run) {
    for (uint32_t i = 1; i < run.tracks.size(); ++i)
      tracks_.emplace(hash_of(run.stacks.at(run.tracks[i].stack.index)), TrackId{i});
  }

  void find(const RawStack& stack, const std::string& group, std::vector<TrackId>& into) const {
    const auto [first, last] = tracks_.equal_range(hash_of(stack));
    for (auto at = first; at != last; ++at) {
      const Track& track = run_.tracks[at->second.index];
      if (track.group == group && is_same(run_.stacks[track.stack.index], stack))
        into.push_back(at->second);
    }
  }

 private:
  const JudgedRun& run_;
  std::unordered_multimap<uint64_t, TrackId> tracks_;
};

struct Judged {
  StackId stack;
  Verdict verdict;
};

// The tracks of each stack that has a value.
std::map<StackId, std::vector<TrackId>> tracks_of(const JudgedRun& run, const Recording& recording,
                                                  const Profile& profile,
                                                  std::span<const StackId> stack_of_sum) {
  const TrackIndex index(run);
  std::map<StackId, std::vector<TrackId>> tracks;
  for (size_t i = 0; i < std::min(stack_of_sum.size(), recording.sums.size()); ++i) {
    const Aggregate& sum = recording.sums[i];
    if (!sum.joint.empty()) continue;  // part of what the stack alone has
    const std::span<const int64_t> row = profile.values(stack_of_sum[i]);
    if (std::all_of(row.begin(), row.end(), [](int64_t value) { return value == 0; })) continue;
    index.find(recording.stacks.at(sum.stack.index), sum.group, tracks[stack_of_sum[i]]);
  }
  for (auto& [stack, list] : tracks) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return tracks;
}

bool is_steady_leak(const Verdict& verdict) {
  return verdict.kind == VerdictKind::leak && verdict.is_steady &&
         verdict.survivors >= least_blocks && verdict.survivor_bytes >= least_bytes;
}

bool is_left_over(const Verdict& verdict) {
  return verdict.kind == VerdictKind::leak && verdict.any_freed &&
         verdict.leaked_share < mostly_freed && verdict.watched_s >= least_watched_s &&
         verdict.survivors >= least_blocks && verdict.survivor_bytes >= least_bytes;
}

std::vector<Judged> judged(const JudgedRun& run, const Recording& recording, const Profile& profile,
                           std::span<const StackId> stack_of_sum) {
  // Ranking by live bytes is cheap, judging is not.
  struct Candidate {
    StackId stack;
    const std::vector<TrackId>* tracks = nullptr;
    int64_t size = 0;
  };
  const auto tracks = tracks_of(run, recording, profile, stack_of_sum);
  std::vector<Candidate> candidates;
  for (const auto& [stack, list] : tracks) {
    Candidate one{stack, &list, 0};
    for (const TrackId track : list)
      static_cast<void>(add_to(one.size, run.ledger.live_bytes(track), Unit::variance));
    if (!list.empty()) candidates.push_back(one);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.size > b.size; });
  if (candidates.size() > most_judged) candidates.resize(most_judged);
  std::vector<Judged> result;
  for (const Candidate& one : candidates)
    if (std::optional<Verdict> verdict = run.ledger.verdict(*one.tracks, {})) {
      if (verdict->ended) excuse(*verdict, one_time_blocks_of(profile, one.stack));
      result.push_back({one.stack, std::move(*verdict)});
    }
  return result;
}

// Brings the leaks to be drawn to the front; returns their number.
size_t bring_drawn_forward(std::vector<Judged>& stacks) {
  const auto bring = [&](bool (*is_wanted)(const Verdict&)) {
    const auto end = std::stable_partition(
        stacks.begin(), stacks.end(), [&](const Judged& one) { return is_wanted(one.verdict); });
    std::sort(stacks.begin(), end,
              [](const Judged& a, const Judged& b) { return is_worse(a.verdict, b.verdict); });
    return std::min(static_cast<size_t>(end - stacks.begin()), most_drawn);
  };
  const size_t steady = bring(is_steady_leak);
  return steady != 0 ? steady : bring(is_left_over);
}

}  // namespace

std::optional<JudgedRun> judged_run(const History& history, const std::vector<RawStack>& stacks,
                                    const HistoryRange& range) {
  const std::vector<Look>& looks = history.looks;
  const auto is_survey = [](const Look& look) { return look.is_survey(); };
  if (!block_columns(history.recording.types) ||
      std::none_of(looks.begin(), looks.end(), is_survey))
    return std::nullopt;
  const uint64_t until_ns = range.at_ns.value_or(range.until_ns.value_or(UINT64_MAX));
  return JudgedRun{ledger_of(history, until_ns), history.tracks, stacks};
}

std::vector<StackMark> marks_of(const JudgedRun& run, const Recording& recording,
                                const Profile& profile, std::span<const StackId> stack_of_sum) {
  std::vector<Judged> stacks = judged(run, recording, profile, stack_of_sum);
  const size_t drawn = bring_drawn_forward(stacks);
  if (stacks.size() > max_marks) stacks.resize(max_marks);
  std::vector<StackId> ids;
  ids.reserve(stacks.size());
  for (const Judged& one : stacks) ids.push_back(one.stack);
  const std::vector<std::string> labels = stack_labels(profile, ids);
  std::vector<StackMark> marks;
  for (size_t i = 0; i < stacks.size(); ++i) {
    const Verdict& verdict = stacks[i].verdict;
    const bool has_rate = verdict.kind == VerdictKind::leak && verdict.is_steady;
    marks.push_back({.stack = stacks[i].stack,
                     .kind = verdict.kind,
                     .is_drawn = i < drawn,
                     .bytes_per_second = has_rate ? std::max(verdict.rate.value, 0.0) : 0,
                     .sentence = in_words(verdict),
                     .label = labels[i]});
  }
  return marks;
}

}  // namespace memflame
