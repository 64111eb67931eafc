// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/clickhouse/store_timeline.h"

#include <algorithm>
#include <map>

#include "collapse/history/stack_labels.h"
#include "core/error.h"
#include "fleet/clickhouse/batch.h"
#include "fleet/clickhouse/row_binary.h"
#include "fleet/clickhouse/store_profile.h"

namespace memflame {
namespace {

// Stacks that one name may stand for, as in several versions of a service.
constexpr size_t hashes_a_line = 20;

// A value for each stretch of time.
using Stretches = std::map<uint32_t, int64_t>;

class StoreTimeline {
 public:
  StoreTimeline(const StoreQuestion& question, const StoreTimelineOptions& options)
      : options_(options), store_(question.store), selection_(store_, question) {
    const StoreFacts& facts = selection_.facts();
    const int64_t range_ns = facts.ended_ns - facts.began_ns;
    // Hosts do not tick together: two windows long, a stretch has one of each that has any.
    step_ns_ =
        std::max<int64_t>({range_ns / static_cast<int64_t>(std::max<size_t>(options.points, 2)),
                           2 * facts.longest_ns, ns_a_second});
    bound_ = selection_.bound();
    RowWriter row;
    row.number(facts.began_ns);
    row.number(step_ns_);
    bound_.push_back({"stretches", "began Int64, step Int64", row.bytes()});
  }

  Timeline run() {
    const StoreType& type = selection_.types().front();
    timeline_.shown = {.name = type.name, .unit = type.unit};
    timeline_.whole.to = seconds_of(last_stretch());
    timeline_.shown_range = timeline_.whole;
    add_stacks();
    add_gauge("resident_bytes");
    describe(profile_, selection_);
    timeline_.meta = profile_.meta;
    timeline_.losses = profile_.losses;
    return std::move(timeline_);
  }

 private:
  // The windows to add up in each stretch: those that last_loads() takes for one range.
  std::string picked() const {
    const std::string stretch =
        "toUInt32(intDiv(ended_ns - 1 - (SELECT began FROM stretches), (SELECT step FROM "
        "stretches)))";
    const std::string where = " FROM windows WHERE " + selection_.windows_where();
    return "SELECT stretch, last_load AS load, total, resident_bytes FROM (SELECT host, stretch, "
           "argMax(load, tuple(ended_ns, load)) AS last_load, max(ended_ns) AS last, "
           "argMax(ended_ns - "
           "began_ns, ended_ns) AS length, argMax(type_totals[indexOf(type_names, (SELECT type "
           "FROM asked))], ended_ns) AS total, argMax(figure_values[indexOf(figure_names, "
           "'resident_bytes')], ended_ns) AS resident_bytes, series, " +
           stretch + " AS stretch" + where +
           " GROUP BY host, series, stretch) ALL INNER JOIN (SELECT host, " + stretch +
           " AS stretch, max(ended_ns) AS newest" + where +
           " GROUP BY host, stretch) USING host, stretch WHERE last + length * 1.5 > newest";
  }

  // Sums by stretch and stack.
  std::string sums(const std::string& condition) const {
    return "SELECT stretch, stack, sum(value) AS bytes FROM (SELECT load, stack, value FROM "
           "samples WHERE " +
           selection_.samples_where("SELECT load FROM (" + picked() + ")", last_stretch() + 1) +
           " AND type = (SELECT type FROM asked)" + condition + ") ALL INNER JOIN (" + picked() +
           ") USING load GROUP BY stretch, stack";
  }

  uint32_t last_stretch() const {
    const StoreFacts& facts = selection_.facts();
    return static_cast<uint32_t>((facts.ended_ns - 1 - facts.began_ns) / step_ns_);
  }

  // The end of a stretch.
  double seconds_of(uint32_t stretch) const {
    const StoreFacts& facts = selection_.facts();
    return static_cast<double>(
               std::min((int64_t{stretch} + 1) * step_ns_, facts.ended_ns - facts.began_ns)) /
           1e9;
  }

  std::map<uint64_t, Stretches> largest() {
    const std::string reply =
        store_.ask("SELECT stack FROM (" + sums("") +
                       ") GROUP BY stack ORDER BY max(bytes) DESC, stack LIMIT " +
                       std::to_string(std::max<size_t>(options_.top, 1) * hashes_a_line),
                   bound_);
    std::vector<BoundTable> bound = bound_;
    bound.push_back({"wanted", "stack UInt64", reply});
    const std::string values = store_.ask(sums(" AND stack IN (SELECT stack FROM wanted)"), bound);
    std::map<uint64_t, Stretches> found;
    for (RowReader rows(values); !rows.at_end();) {
      const auto stretch = rows.number<uint32_t>();
      const auto stack = rows.number<uint64_t>();
      found[stack][stretch] = rows.number<int64_t>();
    }
    return found;
  }

  void add_stacks() {
    Stretches rest;
    const std::string totals =
        store_.ask("SELECT stretch, sum(total) FROM (" + picked() + ") GROUP BY stretch", bound_);
    for (RowReader rows(totals); !rows.at_end();) {
      const auto stretch = rows.number<uint32_t>();
      rest[stretch] = rows.number<int64_t>();
    }
    timeline_.totals.push_back(line(LineKind::total, timeline_.shown.name, rest));
    timeline_.stacks = count_stacks();
    timeline_.totals.back().stacks = timeline_.stacks;

    const std::map<uint64_t, Stretches> by_hash = largest();
    std::vector<uint64_t> hashes;
    hashes.reserve(by_hash.size());
    for (const auto& [hash, values] : by_hash) hashes.push_back(hash);
    const std::map<uint64_t, StackId> stacks = store_stacks(store_, hashes, profile_, false);
    std::map<uint32_t, std::pair<StackId, Stretches>> by_stack;
    for (const auto& [hash, values] : by_hash) {
      auto& [stack, sum] = by_stack[stacks.at(hash).index];
      stack = stacks.at(hash);
      for (const auto& [stretch, value] : values) sum[stretch] += value;
    }
    std::vector<std::pair<StackId, Stretches>> order;
    order.reserve(by_stack.size());
    for (auto& [index, each] : by_stack) order.push_back(std::move(each));
    const auto most = [](const Stretches& values) {
      int64_t largest = 0;
      for (const auto& [stretch, value] : values) largest = std::max(largest, value);
      return largest;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](const auto& a, const auto& b) { return most(a.second) > most(b.second); });
    order.resize(std::min(order.size(), options_.top));
    std::vector<StackId> top;
    top.reserve(order.size());
    for (const auto& [stack, values] : order) top.push_back(stack);
    const std::vector<std::string> labels = stack_labels(profile_, top);
    for (size_t i = 0; i < order.size(); ++i) {
      timeline_.bands.push_back(line(LineKind::stack, labels[i], order[i].second, &rest));
      timeline_.bands.back().stacks = 1;
      for (const FrameId frame : profile_.path(order[i].first))
        timeline_.bands.back().frames.emplace_back(
            profile_.strings[profile_.frames[frame].function]);
      for (const auto& [stretch, value] : order[i].second) rest[stretch] -= value;
    }
    const size_t others = timeline_.stacks - std::min(timeline_.stacks, top.size());
    if (others == 0) return;
    timeline_.bands.push_back(line(LineKind::rest, "everything else", rest));
    timeline_.bands.back().stacks = others;
  }

  size_t count_stacks() {
    const std::string reply = store_.ask(
        "SELECT uniqExact(stack) FROM samples WHERE " +
            selection_.samples_where("SELECT load FROM (" + picked() + ")", last_stretch() + 1) +
            " AND type = (SELECT type FROM asked)",
        bound_);
    RowReader rows(reply);
    return rows.at_end() ? 0 : rows.number<uint64_t>();
  }

  void add_gauge(const std::string& figure) {
    const std::string reply = store_.ask(
        "SELECT stretch, toInt64(sum(" + figure + ")) FROM (" + picked() + ") GROUP BY stretch",
        bound_);
    Stretches values;
    for (RowReader rows(reply); !rows.at_end();) {
      const auto stretch = rows.number<uint32_t>();
      values[stretch] = rows.number<int64_t>();
    }
    const bool has_figures = std::any_of(values.begin(), values.end(),
                                         [](const auto& value) { return value.second != 0; });
    if (!has_figures) return;
    timeline_.gauges.push_back(line(LineKind::gauge, "resident", values));
    timeline_.gauges.back().type = {.name = "resident", .unit = Unit::bytes};
  }

  // `times`: stretches in which other stacks have values, so this one has 0.
  TimeLine line(LineKind kind, const std::string& name, const Stretches& values,
                const Stretches* times = nullptr) const {
    TimeLine line;
    line.kind = kind;
    line.name = name;
    line.type = timeline_.shown;
    TimeLine::Extremes extremes{.least = INT64_MAX, .most = INT64_MIN};
    for (const auto& [stretch, any] : times != nullptr ? *times : values) {
      const auto at = values.find(stretch);
      const int64_t value = at == values.end() ? 0 : at->second;
      // A value holds until the next point, and a stretch is known at its end.
      if (line.points.empty() && seconds_of(stretch) > 0) line.points.push_back({0, value});
      line.points.push_back({seconds_of(stretch), value});
      if (value > extremes.most) extremes.most_at = seconds_of(stretch);
      extremes.least = std::min(extremes.least, value);
      extremes.most = std::max(extremes.most, value);
      extremes.last = value;
    }
    if (!line.points.empty()) line.extremes = line.whole_extremes = extremes;
    return line;
  }

  const StoreTimelineOptions& options_;
  const ClickHouse store_;
  const StoreSelection selection_;
  int64_t step_ns_ = 0;
  std::vector<BoundTable> bound_;
  Timeline timeline_;
  Profile profile_;
};

}  // namespace

Timeline store_timeline(const StoreQuestion& asked, const StoreTimelineOptions& options) {
  StoreQuestion question = asked;
  if (question.type.empty()) question.type = "inuse_space";
  if (!is_state_type(question.type))
    throw Error("a timeline of a store shows what is in use; leave out type=" + question.type +
                    ", or give type=inuse_objects",
                ExitCode::usage);
  return StoreTimeline(question, options).run();
}

}  // namespace memflame
