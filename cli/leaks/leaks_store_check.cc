// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_store_check.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace memflame {
namespace {

constexpr double hour_seconds = 3600;

using GrowthKind = StoreGrowth::Kind;

struct StoreWord {
  std::string_view word, meaning;
  bool (*matches)(const StoreGrowth& growth);
};
constexpr std::array words_of_store{
    StoreWord{"leak", "grows steadily on more than half of the hosts of a version",
              [](const StoreGrowth& growth) { return growth.kind == GrowthKind::leak; }},
    StoreWord{"cannot-tell", "too few windows to tell",
              [](const StoreGrowth& growth) { return growth.kind == GrowthKind::unsure; }},
    StoreWord{"kept", "has grown, and grows no more",
              [](const StoreGrowth& growth) { return growth.kind == GrowthKind::settled; }},
    StoreWord{"linear", "grows steadily on any host",
              [](const StoreGrowth& growth) { return growth.growing != 0; }}};

const StoreWord* word_named(std::string_view word) {
  const auto* const found =
      std::find_if(words_of_store.begin(), words_of_store.end(),
                   [word](const StoreWord& each) { return each.word == word; });
  return found == words_of_store.end() ? nullptr : found;
}

class StoreGate {
 public:
  StoreGate(const StoreLeaks& leaks, const GateOptions& options, Suppressions& suppressions)
      : leaks_(leaks), options_(options), suppressions_(suppressions) {
    for (const FailOn& rule : options.fail_on) rules_.push_back(word_named(rule.word));
  }

  LeakCheck check() {
    check_.most_leaked = options_.most_leaked;
    for (const StoreWord* rule : rules_)
      check_.rules.push_back({std::string(rule->word), std::string(rule->meaning)});
    if (rules_.empty())
      check_.rules.push_back(
          {std::string(words_of_store[0].word), std::string(words_of_store[0].meaning)});
    for (const StoreGrowth& growth : leaks_.stacks) add(growth);
    finish_check(check_, options_, suppressions_);
    return std::move(check_);
  }

 private:
  const StoreWord* rule_for(const StoreGrowth& growth) const {
    for (const StoreWord* rule : rules_)
      if (rule->matches(growth)) return rule;
    return options_.most_leaked && growth.kind == GrowthKind::leak ? words_of_store.data()
                                                                   : nullptr;
  }

  void add(const StoreGrowth& growth) {
    NamedVerdict stack = named_stack(leaks_.profile, growth.stack);
    stack.verdict.live_bytes = growth.last_bytes;
    stack.verdict.live_blocks = growth.last_blocks;
    // One-time blocks are told by how many there are in a process: a place has one at least.
    stack.tracks = std::max<uint64_t>(growth.places, 1);
    const StoreWord* rule = rule_for(growth);
    LeakCase result;
    if (rule != nullptr) result.rule = rule->word;
    result.verdict = name(growth.kind);
    result.sentence = in_words(growth);
    result.process = stack.process;
    result.live_bytes = growth.last_bytes;
    result.live_blocks = growth.last_blocks;
    if (growth.kind == GrowthKind::leak) {
      result.leaked_bytes = std::max<int64_t>(growth.last_bytes - growth.first_bytes, 0);
      result.leaked_blocks = std::max<int64_t>(growth.last_blocks - growth.first_blocks, 0);
    }
    result.rate = LeakCase::Rate{.value = growth.bytes_per_hour / hour_seconds};
    result.frames = stack.frames;
    result.caller = stack.caller;
    result.outcome = outcome_of(growth, rule, stack, result);
    if (result.outcome == CaseOutcome::unsure)
      result.wait_s = static_cast<double>(leaks_.facts.longest_ns) / 1e9 *
                      static_cast<double>(windows_for_growth - growth.least_windows);
    if (result.outcome != CaseOutcome::suppressed) {
      check_.leaked_bytes += result.leaked_bytes;
      check_.leaked_blocks += result.leaked_blocks;
    }
    check_.cases.push_back(std::move(result));
  }

  CaseOutcome outcome_of(const StoreGrowth& growth, const StoreWord* rule,
                         const NamedVerdict& stack, LeakCase& result) {
    const bool may_fail_later = growth.may_leak();
    if (rule == nullptr && !may_fail_later) return CaseOutcome::passed;
    if (const std::optional<std::string> why = suppressions_.match(stack)) {
      result.reason = "suppressed by " + *why;
      return CaseOutcome::suppressed;
    }
    if (rule == nullptr) return CaseOutcome::unsure;
    if (options_.min_rate > 0 && result.rate->value < options_.min_rate) {
      result.reason = "slower than --min-rate";
      return CaseOutcome::too_slow;
    }
    return CaseOutcome::failed;
  }

  const StoreLeaks& leaks_;
  const GateOptions& options_;
  Suppressions& suppressions_;
  std::vector<const StoreWord*> rules_;
  LeakCheck check_;
};

}  // namespace

std::string store_words() {
  std::string text;
  for (const StoreWord& each : words_of_store)
    text += (text.empty() ? "" : ", ") + std::string(each.word) + " (" + std::string(each.meaning) +
            ")";
  return text;
}

void refuse_for_store(const std::function<bool(const char* option)>& given) {
  // Growth in a store is judged by its totals in time, not by the ages of blocks.
  for (const char* name : {"min-blocks", "tail", "warmup"})
    if (given(name))
      throw Error(std::string("--") + name +
                      " judges blocks of a recording; for a store there is --min-bytes",
                  ExitCode::usage);
  if (given("baseline"))
    throw Error(
        "--baseline compares runs; for a store, ask for the new version alone: version=NAME in "
        "the address",
        ExitCode::usage);
}

void refuse_for_store(const GateOptions& options) {
  for (const FailOn& rule : options.fail_on)
    if (word_named(rule.word) == nullptr)
      throw Error("--fail-on " + std::string(rule.word) +
                      " needs the blocks of a run; for a store there are " + store_words(),
                  ExitCode::usage);
}

LeakCheck check_store(const StoreLeaks& leaks, const GateOptions& options,
                      Suppressions& suppressions) {
  return StoreGate(leaks, options, suppressions).check();
}

}  // namespace memflame
