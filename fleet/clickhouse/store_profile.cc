// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/clickhouse/store_profile.h"

#include <algorithm>
#include <cmath>

#include "core/counted.h"
#include "core/error.h"
#include "core/units.h"
#include "fleet/clickhouse/row_binary.h"
#include "fleet/clickhouse/stack_row.h"

namespace memflame {
namespace {

constexpr size_t stacks_at_a_time = 50'000;

// Sums by stack, with a column for each type.
class StoreSums {
 public:
  StoreSums(const ClickHouse& store, const StoreSelection& selection)
      : store_(store), selection_(selection), rows_(selection.types().size()) {
    ask(true);
    ask(false);
  }

  const std::map<uint64_t, std::vector<int64_t>>& sums() const { return sums_; }

  // Samples that the windows say there are, and that were not there.
  uint64_t missing() const {
    uint64_t missing = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const uint64_t told = selection_.types()[i].rows;
      missing += told - std::min(told, rows_[i]);
    }
    return missing;
  }

 private:
  void ask(bool states) {
    RowWriter names;
    std::map<std::string, size_t, std::less<>> columns;
    for (size_t i = 0; i < selection_.types().size(); ++i) {
      const StoreType& type = selection_.types()[i];
      if (type.is_state != states) continue;
      names.text(type.name);
      columns[type.name] = i;
    }
    if (columns.empty()) return;
    std::vector<BoundTable> bound = selection_.bound();
    bound.push_back({"types", "type String", names.bytes()});
    const std::string reply = store_.ask(
        "SELECT type, stack, sum(value), sum(toFloat64(value)), count() FROM samples WHERE " +
            (states ? selection_.samples_where(selection_.last_loads(), 1)
                    : selection_.samples_where_all()) +
            " AND type IN (SELECT type FROM types) GROUP BY type, stack",
        bound);
    for (RowReader rows(reply); !rows.at_end();) {
      const auto column = columns.find(rows.text());
      const auto stack = rows.number<uint64_t>();
      const auto sum = rows.number<int64_t>();
      const auto estimate = rows.number<double>();
      const auto count = rows.number<uint64_t>();
      if (column == columns.end()) throw Error("the store's reply has a type nobody asked for");
      constexpr double most = 9.2e18;  // the store's own sums begin anew beyond 64 bits
      if (std::abs(estimate) > most)
        throw Error("a sum of " + column->first + " does not fit in 64 bits; ask for less time");
      std::vector<int64_t>& values = sums_[stack];
      values.resize(selection_.types().size());
      values[column->second] = sum;
      rows_[column->second] += count;
    }
  }

  const ClickHouse& store_;
  const StoreSelection& selection_;
  std::vector<uint64_t> rows_;  // by type
  std::map<uint64_t, std::vector<int64_t>> sums_;
};

std::string sampling_text(const StoreFacts& facts) {
  if (facts.most_sample_bytes <= 0) return "";
  const auto least = iec_bytes(static_cast<int64_t>(facts.least_sample_bytes));
  const auto most = iec_bytes(static_cast<int64_t>(facts.most_sample_bytes));
  return "one block in " + (least == most ? most : least + " to " + most) +
         " of allocations, already scaled";
}

// Figures come from other machines.
uint64_t whole_number(double figure) {
  return static_cast<uint64_t>(std::clamp(std::isfinite(figure) ? figure : 0, 0.0, 1e18));
}

std::string nothing_but_zero(const StoreSelection& selection, uint64_t missing) {
  const StoreQuestion& question = selection.question();
  const std::string begin = shown(question.store) + ": the windows of " + asked_text(question) +
                            " " + range_text(question.from_ns, question.to_ns);
  if (missing != 0)
    return begin + " have " + counted(missing, "sample") +
           ", which are no longer in the store: their days were dropped";
  return begin + " have no stack with a value other than 0";
}

}  // namespace

void describe(Profile& profile, const StoreSelection& selection) {
  const StoreFacts& facts = selection.facts();
  const StoreQuestion& question = selection.question();
  Meta& meta = profile.meta;
  meta.title = asked_text(question) + ", " + range_text(question.from_ns, question.to_ns);
  meta.began_ns = facts.began_ns;
  meta.seconds = static_cast<double>(facts.ended_ns - facts.began_ns) / 1e9;
  meta.sampling = sampling_text(facts);
  meta.notes.push_back(counted(facts.windows, "window") + " of " + counted(facts.hosts, "host") +
                       " in " + shown(question.store) + ", " +
                       range_text(facts.began_ns, facts.ended_ns));
  std::string versions;
  for (const std::string& version : facts.versions)
    if (!version.empty()) versions += (versions.empty() ? "" : ", ") + version;
  if (!versions.empty()) meta.notes.push_back("versions: " + versions);
  const uint64_t lost = whole_number(facts.lost_events);
  profile.losses.add(Loss::window_lost, lost, static_cast<int64_t>(whole_number(facts.lost_bytes)));
  profile.losses.add(Loss::truncated_in_window, whole_number(facts.cut_stacks));
}

std::map<uint64_t, StackId> store_stacks(const ClickHouse& store,
                                         const std::vector<uint64_t>& hashes, Profile& profile,
                                         bool code) {
  std::map<uint64_t, StackId> found;
  for (size_t begin = 0; begin < hashes.size(); begin += stacks_at_a_time) {
    RowWriter wanted;
    const size_t end = std::min(begin + stacks_at_a_time, hashes.size());
    for (size_t i = begin; i < end; ++i) wanted.number(hashes[i]);
    const BoundTable bound{"wanted", "stack UInt64", wanted.bytes()};
    const std::string reply =
        store.ask("SELECT stack, " + std::string(stack_arrays) +
                      " FROM stacks WHERE stack IN (SELECT stack FROM wanted) LIMIT 1 BY stack",
                  std::span(&bound, 1));
    for (RowReader rows(reply); !rows.at_end();) {
      const auto hash = rows.number<uint64_t>();
      found[hash] = read_stack_row(rows, profile, code);
    }
  }
  for (const uint64_t hash : hashes)
    if (!found.contains(hash))
      found[hash] = profile.push({}, "[a stack that is not in the store]", FrameKind::note);
  return found;
}

Profile store_profile(const StoreQuestion& question, bool code) {
  const ClickHouse store(question.store);
  const StoreSelection selection(store, question);
  Profile profile;
  for (const StoreType& type : selection.types()) {
    if (type.name == "inuse_space") profile.shown = profile.types.size();
    profile.types.push_back({type.name, type.unit});
  }
  const StoreSums sums(store, selection);
  if (sums.sums().empty()) throw Error(nothing_but_zero(selection, sums.missing()));
  std::vector<uint64_t> hashes;
  for (const auto& [hash, values] : sums.sums()) hashes.push_back(hash);
  const std::map<uint64_t, StackId> stacks = store_stacks(store, hashes, profile, code);
  for (const auto& [hash, values] : sums.sums()) profile.add(stacks.at(hash), values);
  describe(profile, selection);
  const bool has_state = std::any_of(selection.types().begin(), selection.types().end(),
                                     [](const StoreType& type) { return type.is_state; });
  if (has_state)
    profile.meta.notes.emplace_back("in-use figures are those of each host's last window");
  if (const uint64_t missing = sums.missing(); missing != 0) {
    profile.losses.add(Loss::input_left_out, missing);
    profile.meta.notes.push_back(counted(missing, "sample") +
                                 " of these windows are no longer in the store");
  }
  return profile;
}

}  // namespace memflame
