// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_verdicts.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

// A verdict takes some work, so only this many stacks are judged, the largest ones.
constexpr size_t most_judged = 4096;

bool is_larger(const LiveStack& a, const LiveStack& b, bool by_count) {
  const auto rank = [&](const LiveStack& stack) {
    const int64_t first = by_count ? stack.old.blocks : stack.old.bytes;
    const int64_t second = by_count ? stack.old.bytes : stack.old.blocks;
    return std::tuple(-first, -second, stack.key);
  };
  return rank(a) < rank(b);
}

// Stacks without a verdict come last.
bool is_before(const JudgedStack& a, const JudgedStack& b, LeaksOrder order) {
  if (order == LeaksOrder::size || order == LeaksOrder::count)
    return is_larger(*a.stack, *b.stack, order == LeaksOrder::count);
  if (a.verdict.has_value() != b.verdict.has_value()) return a.verdict.has_value();
  if (a.verdict && order == LeaksOrder::evidence) {
    if (is_worse(*a.verdict, *b.verdict)) return true;
    if (is_worse(*b.verdict, *a.verdict)) return false;
  }
  if (a.verdict && a.verdict->live_growth.value != b.verdict->live_growth.value &&
      order == LeaksOrder::growth)
    return a.verdict->live_growth.value > b.verdict->live_growth.value;
  return is_larger(*a.stack, *b.stack, false);
}

void keep_first(std::vector<JudgedStack>& stacks, size_t most, LeaksOrder order) {
  const size_t count = std::min(most, stacks.size());
  std::partial_sort(
      stacks.begin(), stacks.begin() + static_cast<std::ptrdiff_t>(count), stacks.end(),
      [order](const JudgedStack& a, const JudgedStack& b) { return is_before(a, b, order); });
  stacks.resize(count);
}

}  // namespace

std::string_view in_words(LeaksOrder order) {
  constexpr std::array words{"evidence", "growth", "size", "count"};
  return words.at(static_cast<size_t>(order));
}

void JudgedStacks::count(const Verdict& verdict) {
  ++judged;
  if (verdict.kind == VerdictKind::cannot_tell) ++unsure;
  if (verdict.kind != VerdictKind::leak) return;
  ++leaks;
  leaked_per_second += verdict.rate.value;
}

void JudgedStacks::excuse(const Verdict& leak) {
  --leaks;
  leaked_per_second -= leak.rate.value;
}

std::string in_words(const JudgedStacks& stacks) {
  const auto count = [](size_t number, const char* one, const char* several) {
    return with_commas(static_cast<int64_t>(number)) + (number == 1 ? one : several);
  };
  if (stacks.judged == 0) return "";
  std::string text = stacks.leaks == 0 ? "no stack is known to leak"
                                       : count(stacks.leaks, " stack leaks", " stacks leak");
  if (stacks.leaked_per_second >= 1)
    text += " " + iec_bytes(static_cast<int64_t>(stacks.leaked_per_second)) + "/s";
  if (stacks.unsure != 0)
    text += ", " + count(stacks.unsure, " cannot be told yet", " cannot be told yet");
  if (stacks.too_small != 0)
    text +=
        ", " + count(stacks.too_small, " small one was not judged", " small ones were not judged");
  return text;
}

std::optional<Verdict> LeaksVerdicts::judge(const LiveRun& run, const LiveStack& stack) const {
  const TrackId track = run.track_of(stack.key);
  const std::optional<Ledger>& ledger = ledger_.ledger();
  return track && ledger ? ledger->verdict(track, options_) : std::nullopt;
}

JudgedStacks LeaksVerdicts::ranked(const LiveRun& run, const Snapshot& snapshot, LeaksOrder order,
                                   size_t most) const {
  JudgedStacks result;
  std::vector<JudgedStack>& stacks = result.shown;
  for (const LiveStack& stack : snapshot.stacks)
    if (is_old(stack)) stacks.push_back({&stack, std::nullopt});
  if (ledger_.is_on()) {
    if (stacks.size() > most_judged) result.too_small = stacks.size() - most_judged;
    keep_first(stacks, std::max(most, most_judged),
               order == LeaksOrder::count ? LeaksOrder::count : LeaksOrder::size);
    for (size_t i = 0; i < std::min(stacks.size(), most_judged); ++i) {
      const std::optional<Verdict>& verdict = stacks[i].verdict = judge(run, *stacks[i].stack);
      if (verdict) result.count(*verdict);
    }
  }
  keep_first(stacks, most, order);
  return result;
}

}  // namespace memflame
