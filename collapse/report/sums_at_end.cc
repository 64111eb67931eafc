// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "collapse/report/report_of.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

std::optional<int64_t> gauge_at(const History& history, size_t look, std::string_view name) {
  const std::vector<int64_t>& values = history.looks[look].gauges;
  for (size_t i = 0; i < std::min(values.size(), history.gauges.size()); ++i)
    if (history.gauges[i].name == name && values[i] != no_reading) return values[i];
  return std::nullopt;
}

// How many looks there were until the end. Processes that have ended occupy nothing: the last look
// at which they lived counts, and not one that found the last of them while the kernel took its
// memory away.
size_t looks_until_end(const History& history) {
  size_t looks = history.looks.size();
  const auto resident = [&](size_t look) {
    return gauge_at(history, look, resident_gauge).value_or(0);
  };
  for (size_t i = 0; i < history.looks.size(); ++i)
    if (resident(i) > 0) looks = i + 1;
  const bool may_end =
      looks < history.looks.size() || (looks > 0 && !history.looks.back().ended.empty());
  if (may_end && looks > 1 && resident(looks - 1) < resident(looks - 2) / 2) --looks;
  return looks;
}

// Figures of the run at one look.
class LookFigures {
 public:
  // After the first `looks` looks.
  LookFigures(const History& history, size_t looks) : history_(history), look_(looks) {
    const size_t columns = history.recording.types.size();
    figures_.resize(history.tracks.size() * columns, 0);
    for (size_t i = 0; i < look_; ++i)
      for (const Look::Row& row : history.looks[i].rows)
        if (row.values.size() == columns && (row.track.index + 1) * columns <= figures_.size())
          std::copy(row.values.begin(), row.values.end(),
                    figures_.begin() + static_cast<ptrdiff_t>(row.track.index * columns));
  }

  // Empty at the end of the run.
  std::string when() const {
    if (look_ == 0 || look_ == history_.looks.size()) return {};
    constexpr uint64_t ns_of_ms = 1'000'000;
    const auto ms = static_cast<int64_t>(history_.looks[look_ - 1].time_ns / ns_of_ms);
    return "at " + plain(ms, 3) + " s, when processes lived last";
  }

  std::optional<int64_t> gauge(std::string_view name) const {
    return look_ == 0 ? std::nullopt : gauge_at(history_, look_ - 1, name);
  }

  std::optional<size_t> column(std::string_view name) const {
    const std::vector<ValueType>& types = history_.recording.types;
    for (size_t i = 0; i < types.size(); ++i)
      if (types[i].name == name) return i;
    return std::nullopt;
  }

  // The bytes of a column by Track::group, for the tracks that `counts` accepts.
  template <class Counts>
  std::map<std::string, int64_t> by_group(size_t column, const Counts& counts) const {
    const std::vector<ValueType>& types = history_.recording.types;
    const int64_t unit = types[column].unit == Unit::pages ? page_bytes : 1;
    std::map<std::string, int64_t> sums;
    for (size_t i = 1; i < history_.tracks.size(); ++i) {
      const Track& track = history_.tracks[i];
      if (track.stack.index >= history_.recording.stacks.size() ||
          !counts(history_.recording.stacks[track.stack.index]))
        continue;
      int64_t bytes = figures_[i * types.size() + column];
      if (__builtin_mul_overflow(bytes, unit, &bytes) ||
          __builtin_add_overflow(sums[track.group], bytes, &sums[track.group]))
        throw Error("a sum of '" + types[column].name + "' does not fit in 64 bits");
    }
    return sums;
  }

  // The whole column; none if the recording does not have it.
  std::optional<int64_t> total(std::string_view name) const {
    const std::optional<size_t> found = column(name);
    if (!found) return std::nullopt;
    return sum_of(by_group(*found, [](const RawStack&) { return true; }));
  }

  static int64_t sum_of(const std::map<std::string, int64_t>& groups) {
    int64_t sum = 0;
    for (const auto& [group, bytes] : groups)
      if (__builtin_add_overflow(sum, bytes, &sum))
        throw Error("a sum of the recording does not fit in 64 bits");
    return sum;
  }

 private:
  const History& history_;
  size_t look_;  // those before it were taken
  std::vector<int64_t> figures_;
};

// Bytes of blocks that the program has not freed. A block of the kernel belongs to no process.
std::optional<int64_t> live_bytes(const LookFigures& figures) {
  const std::optional<size_t> column = figures.column("live");
  if (!column) return std::nullopt;
  bool has_any = false;
  const auto is_of_program = [&](const RawStack& stack) {
    const bool counts = stack.kernel_pcs == 0 && stack.leaf.empty();
    has_any |= counts;
    return counts;
  };
  const int64_t live = LookFigures::sum_of(figures.by_group(*column, is_of_program));
  return has_any ? std::optional(live) : std::nullopt;
}

class SumMaker {
 public:
  explicit SumMaker(const History& history)
      : history_(history),
        figures_(history, looks_until_end(history)),
        live_(live_bytes(figures_)) {}

  std::vector<ReportSum> run() {
    add_reserved();
    add_touched();
    add_resident();
    for (const char* name : {"swapped out", "PSS", "virtual", "control group"})
      if (const std::optional<int64_t> bytes = figures_.gauge(name); bytes && *bytes > 0)
        add(name, *bytes, 0);
    const auto is_live = [](const ReportSum& sum) { return sum.name == live_name; };
    if (live_ && std::ranges::none_of(sums_, is_live))
      sums_.insert(sums_.begin(), ReportSum{.name = live_name, .bytes = *live_});
    if (const std::string when = figures_.when(); !when.empty() && !sums_.empty())
      say(sums_.front(), when);
    return std::move(sums_);
  }

 private:
  static constexpr const char* live_name = "live blocks";
  static constexpr std::string_view anonymous_gauge = "resident, anonymous";

  ReportSum& add(std::string name, int64_t bytes, uint8_t level, std::string note = {}) {
    return sums_.emplace_back(ReportSum{std::move(name), bytes, level, std::move(note)});
  }
  static void say(ReportSum& sum, const std::string& text) {
    sum.note += (sum.note.empty() ? "" : "; ") + text;
  }

  // Bytes of a gauge when counting began that no block of the run explains. A command began with
  // the run, and had nothing before.
  int64_t held_before(std::string_view gauge) const {
    if (history_.recording.meta.command.find(" -- ") != std::string::npos) return 0;
    const std::optional<int64_t> bytes = gauge_at(history_, 0, gauge);
    const int64_t live = live_bytes(LookFigures(history_, 1)).value_or(0);
    int64_t before = 0;
    return bytes && !__builtin_sub_overflow(*bytes, live, &before) ? std::max<int64_t>(before, 0)
                                                                   : 0;
  }

  // Live blocks and what else is in `whole`, the last line, of which `before` was there already
  // when counting began.
  void divide(uint8_t level, const char* rest, const char* why_more, int64_t before = 0) {
    if (!live_) return;
    const size_t whole = sums_.size() - 1;
    add(live_name, *live_, level);
    int64_t others = 0;
    if (__builtin_sub_overflow(sums_[whole].bytes, *live_, &others) || others < 0)
      return say(sums_[whole], why_more);
    before = std::min(before, others);
    if (before > 0)
      add("held before counting began, or unknown", before, level,
          "memory at the first look that no block of this run explains");
    add("the rest", others - before, level, rest);
  }

  // Address space that brk and mmap gave, since counting began.
  void add_reserved() {
    // A single probe has no name in front of its columns; brk alone has "grown".
    const bool is_brk = figures_.column("grown") && figures_.column("outstanding");
    const bool is_mmap = !is_brk && figures_.column("outstanding") && figures_.column("total");
    const std::optional<int64_t> brk = figures_.total(is_brk ? "outstanding" : "brk-outstanding");
    const std::optional<size_t> mmap =
        figures_.column(is_mmap ? "outstanding" : "mmap-outstanding");
    if (!brk && !mmap) return;
    std::map<std::string, int64_t> groups;
    if (mmap) groups = figures_.by_group(*mmap, [](const RawStack&) { return true; });
    const char* name = brk && mmap ? "brk + mmap" : brk ? "brk" : "mmap";
    add(name,
        LookFigures::sum_of({{"brk", brk.value_or(0)}, {"mmap", LookFigures::sum_of(groups)}}), 0,
        "address space that was asked for since counting began and is still there");
    if (!mmap) return;
    if (brk) {
      add("heap and anonymous mappings",
          LookFigures::sum_of({{"brk", *brk}, {"mmap", groups["[anon]"]}}), 1);
      divide(2, "free in the allocator or its own, stacks, mappings of the program",
             "live blocks are more than this: some lie in memory from before counting began");
      groups.erase("[anon]");
    }
    for (const auto& [group, bytes] : groups)
      if (bytes != 0) add("mappings " + group, bytes, 1);
  }

  void add_touched() {
    const bool is_alone = figures_.column("gained") && figures_.column("released");
    const std::optional<int64_t> gained = figures_.total(is_alone ? "gained" : "fault-gained"),
                                 released =
                                     figures_.total(is_alone ? "released" : "fault-released");
    int64_t bytes = 0;
    if (gained && released && !__builtin_sub_overflow(*gained, *released, &bytes))
      add("touched", bytes, 0,
          "pages that became resident since counting began, less those given "
          "back");
  }

  void add_resident() {
    const std::optional<int64_t> resident = figures_.gauge(resident_gauge);
    if (!resident || *resident == 0) return;
    const size_t whole = sums_.size();
    add("resident", *resident, 0, "VmRSS of the processes that live");
    int64_t parts = 0;
    const auto add_part = [&](std::string_view gauge, const char* name) {
      const std::optional<int64_t> bytes = figures_.gauge(gauge);
      if (bytes) add(name, *bytes, 1);
      if (!bytes || __builtin_add_overflow(parts, *bytes, &parts)) return false;
      return true;
    };
    const bool has_anonymous = add_part(anonymous_gauge, "anonymous");
    constexpr const char* others =
        "files, fragmentation, free memory and records of the allocator, stacks, variables of "
        "programs and libraries";
    constexpr size_t files = std::string_view("files, ").size();
    divide(has_anonymous ? 2 : 1, has_anonymous ? others + files : others,
           "live blocks are more than this: parts of them were never touched, or are swapped "
           "out",
           held_before(has_anonymous ? anonymous_gauge : resident_gauge));
    add_part("resident, files", "files");
    add_part("resident, shared", "shared memory");
    if (parts > *resident) say(sums_[whole], "its parts are more: they were read a moment apart");
  }

  const History& history_;
  const LookFigures figures_;
  const std::optional<int64_t> live_;
  std::vector<ReportSum> sums_;
};

}  // namespace

std::vector<ReportSum> sums_at_end(const History& history) {
  return history.looks.empty() ? std::vector<ReportSum>{} : SumMaker(history).run();
}

}  // namespace memflame
