// SPDX-License-Identifier: BSD-2-Clause
// What "memray stats --json" writes: totals, and the lines of code that allocated most, by bytes
// and by allocations. A line that is only in one list has only that figure.
#include <array>
#include <optional>

#include "collapse/inputs/python/memray_frame.h"
#include "collapse/inputs/text_frame.h"
#include "collapse/text/issues.h"
#include "collapse/text/json_tokens.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

using StatsToken = JsonTokens::Kind;

class MemrayStatsReader {
 public:
  MemrayStatsReader(Source& source, const ReadOptions& options)
      : source_(source), options_(options), json_(source) {
    profile_.types = {{"allocated", Unit::bytes}, {"allocations", Unit::count}};
  }

  Profile run() {
    if (json_.next() != StatsToken::begin_object) json_.fail("not an object,");
    while (json_.next() == StatsToken::key) take(std::string(json_.text()));
    json_.next();
    add_rest();
    profile_.meta.title = "memray statistics";
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  void take(const std::string& key) {
    if (key == "total_bytes_allocated") {
      total_[0] = json_.take_integer();
    } else if (key == "total_num_allocations") {
      total_[1] = json_.take_integer();
    } else if (key == "top_allocations_by_size") {
      take_list("size", 0);
    } else if (key == "top_allocations_by_count") {
      take_list("count", 1);
    } else if (key == "metadata") {
      take_metadata();
    } else {
      json_.skip_value();
    }
  }

  void take_list(std::string_view figure, size_t column) {
    if (json_.next() != StatsToken::begin_array) json_.fail("not a list of locations,");
    while (json_.next() != StatsToken::end_array) {
      if (json_.kind() != StatsToken::begin_object) json_.fail("not a location,");
      std::string location;
      std::optional<int64_t> value;
      while (json_.next() == StatsToken::key) {
        if (json_.text() == "location")
          location = json_.take_string();
        else if (json_.text() == figure)
          value = json_.take_integer();
        else
          json_.skip_value();
      }
      if (!value || *value < 0) {
        issues_.add("a location without its figure", 0, location);
        continue;
      }
      std::array<int64_t, 2> row{};
      row.at(column) = *value;
      if (__builtin_add_overflow(listed_.at(column), *value, &listed_.at(column)))
        source_.fail("a sum does not fit in 64 bits");
      profile_.add(stack_of(location), row);
    }
  }

  // "function:file:line".
  StackId stack_of(std::string_view location) {
    if (location == "<stack trace unavailable>")
      return profile_.push({}, "[no stack]", FrameKind::note);
    const auto line = take_line_number(location);
    const size_t colon = line ? location.find(':') : location.npos;
    const std::string_view function = location.substr(0, colon);
    const std::string_view file =
        colon == location.npos ? std::string_view() : location.substr(colon + 1);
    const Frame frame =
        memray_frame(profile_.strings.intern(function.empty() ? "[unknown]" : function),
                     profile_.strings.intern(file), line.value_or(0), options_);
    return profile_.stacks.push({}, profile_.frames.intern(frame));
  }

  void take_metadata() {
    if (json_.next() != StatsToken::begin_object) return json_.skip();
    while (json_.next() == StatsToken::key) {
      if (json_.text() == "command_line") {
        profile_.meta.command = json_.take_string();
      } else if (json_.text() == "peak_memory") {
        if (const auto peak = json_.take_integer())
          profile_.meta.notes.push_back("the peak was " + iec_bytes(*peak) + " (" +
                                        with_commas(*peak) + " B)");
      } else {
        json_.skip_value();
      }
    }
  }

  // The lists have the largest only; the totals have everything.
  void add_rest() {
    std::array<int64_t, 2> rest{};
    for (size_t column = 0; column < rest.size(); ++column) {
      if (!total_.at(column)) source_.fail("its totals are missing");
      rest.at(column) = *total_.at(column) - listed_.at(column);
      if (*total_.at(column) < 0 || rest.at(column) < 0)
        source_.fail("its locations have more than its totals");
    }
    if (rest == std::array<int64_t, 2>{}) return;
    profile_.add(profile_.push({}, "[not in memray's statistics]", FrameKind::note), rest);
    profile_.meta.notes.push_back(
        "memray's statistics list only the largest locations: " + iec_bytes(rest[0]) + " and " +
        with_commas(rest[1]) + " allocations are of others, or of a list that lacks the location");
  }

  Source& source_;
  const ReadOptions& options_;
  JsonTokens json_;
  Profile profile_;
  Issues issues_;
  std::array<std::optional<int64_t>, 2> total_;
  std::array<int64_t, 2> listed_{};
};

}  // namespace

bool is_memray_stats(std::string_view head) {
  return begins_as_json(head, R"({"total_num_allocations":)") &&
         head.find("\"allocator_type_distribution\"") != head.npos;
}

Profile read_memray_stats(Source& source, const ReadOptions& options) {
  return MemrayStatsReader(source, options).run();
}

}  // namespace memflame
