// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/gate.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace memflame {
namespace {

constexpr std::array words{
    FailOn{"lost", "blocks to which no pointer leads (needs --reachable)", VerdictKind::leak,
           GrowthClass::none, true},
    FailOn{"leak", "blocks that never come back, or that an ended process left"},
    FailOn{"cannot-tell", "the run was too short to tell", VerdictKind::cannot_tell},
    FailOn{"kept", "blocks that stay, though no more come", VerdictKind::kept},
    FailOn{"freed-at-end", "blocks that were kept until the end", VerdictKind::freed_at_end},
    FailOn{"logarithmic", "memory that grows ever more slowly", VerdictKind::leak,
           GrowthClass::logarithmic},
    FailOn{"linear", "memory that grows steadily", VerdictKind::leak, GrowthClass::linear},
    FailOn{"exponential", "memory that grows ever faster", VerdictKind::leak,
           GrowthClass::exponential}};

constexpr const FailOn& leak_word = words[1];

bool matches(const FailOn& rule, const NamedVerdict& stack) {
  const Verdict& verdict = stack.verdict;
  if (rule.lost) return stack.reach && stack.reach->lost().blocks > 0;
  return rule.growth == GrowthClass::none ? rule.kind == verdict.kind
                                          : rule.growth == verdict.growth;
}

// nullptr if nothing matches.
const FailOn* rule_for(const NamedVerdict& stack, const GateOptions& options) {
  for (const FailOn& rule : options.fail_on)
    if (matches(rule, stack)) return &rule;
  if (options.most_leaked && stack.verdict.kind == VerdictKind::leak) return &leak_word;
  return nullptr;
}

bool has_rate(const Verdict& verdict) {
  return verdict.kind != VerdictKind::leak || verdict.is_steady;
}

int64_t bytes_that_count(const Verdict& verdict) {
  return verdict.kind == VerdictKind::leak
             ? verdict.survivor_bytes
             : std::max(verdict.live_bytes, verdict.growth != GrowthClass::none ||
                                                    verdict.kind == VerdictKind::freed_at_end
                                                ? verdict.maximum_bytes
                                                : 0);
}

bool is_too_small(const Verdict& verdict, const GateOptions& options) {
  if (verdict.kind == VerdictKind::leak && !options.has_given_floor) return false;
  const int64_t blocks = verdict.kind == VerdictKind::leak ? verdict.survivors
                         : verdict.live_blocks > 0
                             ? verdict.live_blocks
                             : verdict.total_blocks;  // all were freed at the end
  return bytes_that_count(verdict) < options.min_bytes || blocks < options.min_blocks;
}

bool is_too_small(const ReachCount& lost, const GateOptions& options) {
  return options.has_given_floor &&
         (lost.bytes < options.min_bytes || lost.blocks < options.min_blocks);
}

LeakCase case_of(const NamedVerdict& stack, const FailOn* rule) {
  const Verdict& verdict = stack.verdict;
  LeakCase result;
  if (rule != nullptr) result.rule = rule->word;
  result.verdict = name(verdict.kind);
  result.growth = name(verdict.growth);
  result.sentence = in_words(verdict);
  // Such a stack fails for how it grows, of which the verdict on its blocks need not speak.
  if (rule != nullptr && rule->growth != GrowthClass::none)
    result.sentence = std::string(rule->word) + " growth of live bytes; " + result.sentence;
  result.reach = stack.reach;
  result.process = stack.process;
  result.live_bytes = verdict.live_bytes;
  result.live_blocks = verdict.live_blocks;
  if (verdict.kind == VerdictKind::leak) {
    result.leaked_bytes = verdict.survivor_bytes;
    result.leaked_blocks = verdict.survivors;
  }
  if (has_rate(verdict))
    result.rate = LeakCase::Rate{verdict.rate.value, verdict.rate.low, verdict.rate.high};
  if (verdict.kind == VerdictKind::cannot_tell) result.wait_s = verdict.wait_s;
  result.frames = stack.frames;
  result.caller = stack.caller;
  return result;
}

class Gate {
 public:
  Gate(const GateOptions& options, Suppressions& suppressions, const Baseline* baseline)
      : options_(options), suppressions_(suppressions), baseline_(baseline) {}

  LeakCheck check(std::span<const NamedVerdict> stacks) {
    check_.most_leaked = options_.most_leaked;
    for (const FailOn& rule : options_.fail_on)
      check_.rules.push_back({std::string(rule.word), std::string(rule.meaning)});
    if (check_.rules.empty())
      check_.rules.push_back({std::string(leak_word.word), std::string(leak_word.meaning)});
    for (const NamedVerdict& stack : stacks) add(stack);
    finish_check(check_, options_, suppressions_);
    if (baseline_ != nullptr)
      for (const auto& [key, verdict] : *baseline_)
        if (!matched_.contains(key)) ++check_.gone;
    return std::move(check_);
  }

 private:
  void add(const NamedVerdict& stack) {
    const FailOn* rule = rule_for(stack, options_);
    LeakCase result = case_of(stack, rule);
    result.outcome = outcome_of(stack, rule, result);
    const bool counts =
        result.outcome != CaseOutcome::suppressed && result.outcome != CaseOutcome::known;
    if (counts) {
      check_.leaked_bytes += result.leaked_bytes;
      check_.leaked_blocks += result.leaked_blocks;
    }
    check_.cases.push_back(std::move(result));
  }

  CaseOutcome outcome_of(const NamedVerdict& stack, const FailOn* rule, LeakCase& result) {
    const Verdict& verdict = stack.verdict;
    // A longer run would not tell more about pointers.
    const bool may_fail_later =
        verdict.kind == VerdictKind::cannot_tell && !options_.fails_only_on_lost();
    if (rule == nullptr && !may_fail_later) return CaseOutcome::passed;
    if (rule != nullptr) matched_.insert(stack.key);
    if (const std::optional<std::string> why = suppressions_.match(stack)) {
      result.reason = "suppressed by " + *why;
      return CaseOutcome::suppressed;
    }
    if (rule == nullptr) return CaseOutcome::unsure;
    if (baseline_ != nullptr) {
      if (const auto before = baseline_->find(stack.key); before != baseline_->end()) {
        result.is_worse = is_clearly_worse(verdict, before->second);
        if (!result.is_worse) {
          result.reason = "the baseline has it";
          return CaseOutcome::known;
        }
      }
    }
    if (rule->lost ? is_too_small(stack.reach->lost(), options_)
                   : is_too_small(verdict, options_)) {
      result.reason = "below --min-bytes or --min-blocks";
      return CaseOutcome::too_small;
    }
    // What is lost has no rate: its stack may have reachable blocks as well.
    if (!rule->lost && options_.min_rate > 0 &&
        !(has_rate(verdict) && verdict.rate.value >= options_.min_rate)) {
      result.reason = has_rate(verdict) ? "slower than --min-rate"
                                        : "has no steady rate, so it is not above --min-rate";
      return CaseOutcome::too_slow;
    }
    return CaseOutcome::failed;
  }

  const GateOptions& options_;
  Suppressions& suppressions_;
  const Baseline* baseline_;
  LeakCheck check_;
  std::unordered_set<std::string> matched_;
};

}  // namespace

std::span<const FailOn> fail_on_words() { return words; }

bool GateOptions::fails_on_lost() const {
  return std::any_of(fail_on.begin(), fail_on.end(), [](const FailOn& rule) { return rule.lost; });
}

bool GateOptions::fails_only_on_lost() const {
  return !most_leaked && !fail_on.empty() &&
         std::all_of(fail_on.begin(), fail_on.end(), [](const FailOn& rule) { return rule.lost; });
}

Baseline baseline_of(std::span<const NamedVerdict> stacks, const GateOptions& options) {
  Baseline baseline;
  for (const NamedVerdict& stack : stacks)
    if (rule_for(stack, options) != nullptr) baseline.emplace(stack.key, stack.verdict);
  return baseline;
}

bool is_clearly_worse(const Verdict& now, const Verdict& before) {
  if (has_rate(now) && has_rate(before) && now.rate.low > 0 && before.rate.low > 0)
    return now.rate.low > before.rate.high;
  return static_cast<double>(bytes_that_count(now)) >
         2 * static_cast<double>(bytes_that_count(before));
}

void finish_check(LeakCheck& check, const GateOptions& options, const Suppressions& suppressions) {
  // Without --fail-on, leaks fail together or not at all.
  if (options.fail_on.empty() && !check.leaked_too_much())
    for (LeakCase& each : check.cases)
      if (each.outcome == CaseOutcome::failed) {
        each.outcome = CaseOutcome::passed;
        each.reason = "all leaks together are within --fail-if-leaked";
      }
  for (const LeakCase& each : check.cases) {
    LeakCheck::Sum& sum = check.sums.at(static_cast<size_t>(each.outcome));
    ++sum.stacks;
    sum.bytes += each.live_bytes;
    sum.blocks += each.live_blocks;
  }
  std::stable_partition(check.cases.begin(), check.cases.end(),
                        [](const LeakCase& each) { return each.outcome == CaseOutcome::failed; });
  check.suppressions = suppressions.uses();
}

LeakCheck check_leaks(std::span<const NamedVerdict> stacks, const GateOptions& options,
                      Suppressions& suppressions, const Baseline* baseline) {
  return Gate(options, suppressions, baseline).check(stacks);
}

}  // namespace memflame
