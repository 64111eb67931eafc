// SPDX-License-Identifier: BSD-2-Clause
// speedscope's files: frames in one shared table, and profiles that are samples with weights
// ("sampled") or events that open and close frames ("evented"). Numbers may have decimals. They are
// not rounded through floating point: a first pass finds the decimals that each column needs, up to
// 9 as far as its sum fits in 64 bits.
// Source: https://www.speedscope.app/file-format-schema.json
#include <algorithm>
#include <cmath>
#include <optional>

#include "collapse/inputs/folded/folded_comment.h"
#include "collapse/inputs/folded/marked_names.h"
#include "collapse/inputs/profilers/speedscope_document.h"
#include "collapse/inputs/readers.h"
#include "collapse/text/issues.h"
#include "core/error.h"
#include "core/folded.h"
#include "core/kind_names.h"

namespace memflame {
namespace {

struct TimeUnit {
  std::string_view name;
  int power;  // one is 10^power ns
};
constexpr std::array time_units{TimeUnit{"nanoseconds", 0}, TimeUnit{"microseconds", 3},
                                TimeUnit{"milliseconds", 6}, TimeUnit{"seconds", 9}};

class SpeedscopeReader {
 public:
  SpeedscopeReader(Source& source, const ReadOptions& options)
      : source_(source),
        options_(options),
        document_(read_speedscope_document(source)),
        is_ours_(document_.exporter.starts_with("memflame")) {}

  Profile run() {
    if (document_.profiles.empty()) source_.fail("it has no profiles");
    if (options_.in_order) profile_.keep_order();
    columns();
    frames();
    for (size_t i = 0; i < document_.profiles.size(); ++i) add(document_.profiles[i], columns_[i]);
    try {
      take_comments();
    } catch (const Error& error) {
      source_.fail(error.what());
    }
    if (profile_.meta.title.empty() && !is_ours_) profile_.meta.title = document_.name;
    if (rounded_) profile_.meta.notes.emplace_back("figures with more digits were rounded");
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  void take_comments() {
    FoldedComments comments;
    for (const std::string& line : document_.comments)
      if (!line.starts_with(folded_comment) || !comments.take(line))
        issues_.add("a damaged comment of memflame's", 0, line);
    comments.finish(profile_);
  }

  // The column of a profile, and the meaning of its numbers there.
  struct Column {
    size_t index = 0;
    int power = 0;  // a number times 10^power is in the column's unit
    int needed = 0;
    long double sum = 0;  // upper bound of what its numbers add up to
  };

  // memflame writes one profile per column. Others write one per thread: those in one unit add up.
  void columns() {
    for (const SpeedscopeProfile& profile : document_.profiles) {
      Column column;
      ValueType type = type_of(profile, column.power);
      const auto same = [&](const ValueType& known) { return known == type; };
      const auto known = std::find_if(profile_.types.begin(), profile_.types.end(), same);
      column.index = static_cast<size_t>(known - profile_.types.begin());
      if (known == profile_.types.end()) {
        if (profile_.types.size() == max_columns) source_.fail("it has more than 1,024 columns");
        profile_.types.push_back(std::move(type));
      }
      measure(profile, column);
      if (is_ours_) column.needed = std::max<int>(column.needed, profile.column_decimals);
      columns_.push_back(column);
    }
    std::vector<int> decimals(profile_.types.size(), 0);
    std::vector<long double> sums(profile_.types.size(), 1);
    for (const Column& column : columns_) {
      decimals[column.index] = std::max(decimals[column.index], column.needed);
      sums[column.index] += column.sum;
    }
    constexpr int most = 9, most_digits = 18;
    for (size_t i = 0; i < decimals.size(); ++i) {
      const int whole = static_cast<int>(std::log10(sums[i])) + 1;
      profile_.types[i].decimals =
          static_cast<uint8_t>(std::clamp(std::min(decimals[i], most_digits - whole), 0, most));
    }
    int64_t active = 0;
    bool rounded = false;
    if (document_.active.scaled(0, active, rounded) && active >= 0 &&
        static_cast<uint64_t>(active) < columns_.size())
      profile_.shown = columns_[static_cast<size_t>(active)].index;
  }

  ValueType type_of(const SpeedscopeProfile& profile, int& power) {
    ValueType type;
    if (is_ours_ && parse_unit(profile.column_unit, type.unit)) {
      type.name = profile.name;
      return type;
    }
    const auto* time =
        std::find_if(time_units.begin(), time_units.end(),
                     [&](const TimeUnit& unit) { return unit.name == profile.unit; });
    if (time != time_units.end()) {
      power = time->power;
      type.unit = Unit::nanoseconds;
    } else if (profile.unit == "bytes") {
      type.unit = Unit::bytes;
    } else if (options_.type) {
      return *options_.type;
    }
    type.name = name(type.unit);
    return type;
  }

  static void measure(const SpeedscopeProfile& profile, Column& column) {
    // No number beyond this fits in 64 bits.
    constexpr long double huge = 1e30L;
    const auto size_of = [&](const JsonNumber& number) {
      const int power = number.exponent + column.power;
      column.needed = std::max(column.needed, -power);
      const auto digits = static_cast<long double>(number.digits);
      return std::min(huge, std::abs(digits * std::pow(10.0L, power)));
    };
    for (const JsonNumber& weight : profile.weights) column.sum += size_of(weight);
    // Values are differences of these times, so they add up to the distance of the first from the
    // last at most.
    long double farthest = 0;
    for (const SpeedscopeEvent& event : profile.events)
      farthest = std::max(farthest, size_of(event.at));
    if (profile.type == "evented") farthest = std::max(farthest, size_of(profile.end));
    column.sum += 2 * farthest;
  }

  void frames() {
    for (const SpeedscopeFrame& from : document_.frames) {
      FrameKind kind = bracketed_kind(from.name);
      if (is_ours_) parse_kind(from.kind, kind);
      StringTable& strings = profile_.strings;
      frames_.push_back(profile_.frames.intern(
          {strings.intern(from.name), strings.intern(from.module),
           strings.intern(options_.lines ? from.file : ""), options_.lines ? from.line : 0, kind}));
    }
    unknown_ = profile_.frames.intern(
        {profile_.strings.intern("[unknown]"), {}, {}, 0, FrameKind::unknown});
  }

  void add(const SpeedscopeProfile& from, const Column& column) {
    const bool is_one_of_many = document_.profiles.size() > 1 && !is_ours_;
    const StackId root =
        is_one_of_many ? profile_.push({}, from.name, FrameKind::process) : StackId{};
    // By StackId::index of the profile's own stacks. Callers come before their callees.
    std::vector<StackId> stacks{root};
    stacks.reserve(from.stacks.size());
    const auto stack_of = [&](StackId stack) {
      for (auto i = static_cast<uint32_t>(stacks.size()); i <= stack.index; ++i) {
        const StackNode& node = from.stacks[StackId{i}];
        stacks.push_back(
            profile_.stacks.push(stacks[node.caller.index], frame(node.frame.index - 1)));
      }
      return stacks[stack.index];
    };
    values_.assign(profile_.types.size(), 0);
    if (from.type == "sampled")
      add_samples(from, column, stack_of);
    else if (from.type == "evented")
      add_events(from, column, root);
    else
      issues_.add("a profile that is neither sampled nor evented", 0, from.type);
    if (from.unknown_events != 0)
      issues_.add("events that neither open nor close a frame", 0,
                  std::to_string(from.unknown_events));
  }

  FrameId frame(uint32_t index) {
    if (index < frames_.size()) return frames_[index];
    issues_.add("a frame that is not there", 0, std::to_string(index));
    return unknown_;
  }

  void add_samples(const SpeedscopeProfile& from, const Column& column, const auto& stack_of) {
    if (from.samples.size() != from.weights.size())
      issues_.add(
          "not as many samples as weights", 0,
          std::to_string(from.samples.size()) + " and " + std::to_string(from.weights.size()));
    for (size_t i = 0; i < std::min(from.samples.size(), from.weights.size()); ++i)
      add_value(stack_of(from.samples[i]), value_of(from.weights[i], column), column);
  }

  // The time between two events belongs to the stack that was open meanwhile.
  void add_events(const SpeedscopeProfile& from, const Column& column, StackId root) {
    StackId open = root;
    std::vector<uint32_t> path;  // indices of the open frames
    std::optional<int64_t> last;
    const auto advance = [&](const JsonNumber& at) {
      const int64_t now = value_of(at, column);
      int64_t spent = 0;
      if (last && (now < *last || __builtin_sub_overflow(now, *last, &spent)))
        return issues_.add("an event that is earlier than the one before it", 0,
                           std::to_string(now));
      if (spent != 0 && !path.empty()) add_value(open, spent, column);
      last = now;
    };
    for (const SpeedscopeEvent& event : from.events) {
      advance(event.at);
      if (event.opens) {
        path.push_back(event.frame);
        open = profile_.stacks.push(open, frame(event.frame));
      } else if (!path.empty() && path.back() == event.frame) {
        path.pop_back();
        open = profile_.stacks[open].caller;
      } else {
        issues_.add("a frame that closes while another is open", 0, std::to_string(event.frame));
      }
    }
    if (path.empty()) return;
    issues_.add("frames that are still open at the end", 0, std::to_string(path.size()));
    advance(from.end);
  }

  int64_t value_of(const JsonNumber& number, const Column& column) {
    const ValueType& type = profile_.types[column.index];
    int64_t value = 0;
    if (!number.scaled(column.power + type.decimals, value, rounded_))
      source_.fail("a figure of " + type.name + " leaves the range of 64 bits");
    return value;
  }

  void add_value(StackId stack, int64_t value, const Column& column) {
    if (!stack) stack = profile_.push({}, "[no stack]", FrameKind::note);
    values_[column.index] = value;
    try {
      profile_.add(stack, values_);
    } catch (const Error& error) {
      source_.fail(error.what());
    }
    values_[column.index] = 0;
  }

  Source& source_;
  const ReadOptions& options_;
  const Speedscope document_;
  const bool is_ours_;
  Profile profile_;
  Issues issues_;
  std::vector<Column> columns_;  // by profile of the document
  std::vector<FrameId> frames_;  // by frame of the document
  FrameId unknown_;
  std::vector<int64_t> values_;
  bool rounded_ = false;
};

bool mentions(std::string_view head, std::string_view text) {
  return head.find(text) != std::string_view::npos;
}

}  // namespace

bool is_speedscope(std::string_view head) {
  const size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || head[begin] != '{') return false;
  return mentions(head, "speedscope.app/file-format-schema.json") ||
         (mentions(head, "\"shared\"") && mentions(head, "\"frames\"") &&
          mentions(head, "\"exporter\""));
}

Profile read_speedscope(Source& source, const ReadOptions& options) {
  return SpeedscopeReader(source, options).run();
}

}  // namespace memflame
