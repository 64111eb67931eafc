// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "collapse/verdicts/ledger.h"
#include "tests/collapse/verdicts/scenarios.h"
#include "tests/support/scaled.h"

using namespace memflame;

namespace {

constexpr TrackId track{1};

// The verdicts on one run.
struct Watched {
  Verdict after_10_s;  // in the middle of the run, unless that lasts no longer
  Verdict at_end;      // the process goes on
  Verdict ended;       // the process ended with the run
};

Watched watch(Behaviour behaviour, uint64_t seed, double seconds, double sample_bytes) {
  Ledger ledger(block_types());
  Watched watched;
  run(behaviour, seed, seconds, sample_bytes, [&](const Look& look, const Simulation& now) {
    const bool is_last = static_cast<double>(look.time_ns) >= seconds * 1e9;
    if (is_last) {
      Ledger other = ledger;
      Look last = look;
      last.ended.push_back(SpaceId{1});
      other.add(last, now.tracks());
      other.end(last.time_ns);
      watched.ended = other.verdict(track, {}).value();
    }
    ledger.add(look, now.tracks());
    if (look.time_ns == 10'000'000'000) watched.after_10_s = ledger.verdict(track, {}).value();
    if (!is_last) return;
    ledger.end(look.time_ns);
    watched.at_end = ledger.verdict(track, {}).value();
  });
  return watched;
}

// Sanitizers make a run take seconds.
constexpr size_t runs = scaled(50) == 50 ? 50 : 1;

struct Expected {
  Behaviour behaviour;
  VerdictKind kind;
  std::vector<GrowthClass> growth;
};

// How many runs of each behaviour are judged as expected.
class Score {
 public:
  explicit Score(std::vector<Expected> table) : table_(std::move(table)), right_(table_.size()) {}

  void add(size_t row, const Verdict& verdict) {
    const Expected& expected = table_[row];
    const bool is_class = std::find(expected.growth.begin(), expected.growth.end(),
                                    verdict.growth) != expected.growth.end();
    if (verdict.kind == expected.kind && is_class)
      ++right_[row];
    else
      MESSAGE("behaviour ", row, ", ", name(verdict.growth), ": ", in_words(verdict));
  }
  void check() const {
    for (size_t row = 0; row < table_.size(); ++row) {
      CAPTURE(row);
      CHECK(right_[row] == runs);
    }
  }

 private:
  std::vector<Expected> table_;
  std::vector<size_t> right_;
};

constexpr auto leak = VerdictKind::leak, unknown = VerdictKind::cannot_tell,
               kept = VerdictKind::kept, freed = VerdictKind::freed_at_end,
               back = VerdictKind::comes_back;
constexpr auto constant = GrowthClass::constant, linear = GrowthClass::linear,
               logarithmic = GrowthClass::logarithmic;

const std::vector<Expected> after_10_s{{Behaviour::linear, unknown, {linear}},
                                       {Behaviour::freed_at_end, unknown, {linear}},
                                       {Behaviour::bounded, unknown, {linear}},
                                       {Behaviour::mostly_freed, unknown, {constant, linear}},
                                       {Behaviour::temporary, back, {constant}}};
const std::vector<Expected> after_60_s{{Behaviour::linear, leak, {linear}},
                                       {Behaviour::freed_at_end, freed, {linear}},
                                       {Behaviour::bounded, kept, {logarithmic}},
                                       {Behaviour::mostly_freed, leak, {linear}},
                                       {Behaviour::temporary, back, {constant}}};
// What is left is known when the process has ended.
const std::vector<Expected> ended{{Behaviour::linear, leak, {linear}},
                                  {Behaviour::freed_at_end, freed, {linear}},
                                  {Behaviour::bounded, leak, {logarithmic}},
                                  {Behaviour::mostly_freed, leak, {linear}},
                                  {Behaviour::temporary, back, {constant}}};

}  // namespace

TEST_CASE("five behaviours in runs of 60 s, judged after 10 s and after 60 s") {
  for (const double sample_bytes : {0.0, 1024.0}) {  // every block, and one in four
    CAPTURE(sample_bytes);
    Score early(after_10_s), late(after_60_s), end(ended);
    for (size_t row = 0; row < ended.size(); ++row)
      for (uint64_t seed = 1; seed <= runs; ++seed) {
        const Watched watched = watch(ended[row].behaviour, seed, 60, sample_bytes);
        early.add(row, watched.after_10_s);
        late.add(row, watched.at_end);
        end.add(row, watched.ended);
      }
    early.check();
    late.check();
    end.check();
  }
}

TEST_CASE("five behaviours of a process that ends after 10 s") {
  for (const double sample_bytes : {0.0, 1024.0}) {
    CAPTURE(sample_bytes);
    Score end(ended);
    for (size_t row = 0; row < ended.size(); ++row)
      for (uint64_t seed = 1; seed <= runs; ++seed)
        end.add(row, watch(ended[row].behaviour, seed, 10, sample_bytes).ended);
    end.check();
  }
}
