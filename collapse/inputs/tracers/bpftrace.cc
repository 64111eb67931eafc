// SPDX-License-Identifier: BSD-2-Clause
// The maps that bpftrace prints at the end of a script, or by print():
//
//   @bytes[bash,
//       malloc+0
//       main+45
//   , 12]: 4096
//
// Keys are separated by ", "; a key that is a stack has one line per frame, leaf first. A stack
// without frames is an empty key. A histogram follows its key line by line.
#include <algorithm>

#include "collapse/inputs/text_reader.h"
#include "collapse/inputs/tracers/bpftrace_maps.h"
#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

constexpr std::string_view value_mark = "]: ";

bool is_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

constexpr ByteSet end_of_name = byte_set("[:");

// "@name[" and "@name: ": the name, which is taken off `line` with '@'.
std::optional<std::string_view> take_map(std::string_view& line) {
  if (line.starts_with("^C")) line.remove_prefix(2);  // a terminal's echo of the interrupt key
  if (!line.starts_with('@')) return std::nullopt;
  const size_t end = first_in(line, end_of_name);
  if (end == line.size() || !is_name(line.substr(1, end - 1))) return std::nullopt;
  const std::string_view name = line.substr(1, end - 1);
  line.remove_prefix(end);
  return name;
}

bool is_bpftrace_banner(std::string_view line) {
  return (line.starts_with("Attaching ") || line.starts_with("Attached ")) &&
         line.find(" probe") != std::string_view::npos;
}

// "[8, 16)    50 |@@@@   |": 50.
std::optional<int64_t> bucket(std::string_view line) {
  const size_t bar = line.find('|');
  if (bar == std::string_view::npos || (!line.starts_with('[') && !line.starts_with('(')))
    return std::nullopt;
  const std::string_view before = trimmed(line.substr(0, bar));
  return integer(before.substr(before.find_last_of(" \t") + 1));
}

class BpftraceReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    each_line([&](std::string_view line) { take(line); });
    end_histogram();
    if (maps_.open()) {
      bad("a stack without its value");
      cut_off("it has no value and is left out");
    } else if (!whole) {
      cut_off("the last number may be cut off");
    }
    std::vector<std::string> notes = std::move(profile.meta.notes);
    profile = maps_.finish();
    profile.meta.notes.insert(profile.meta.notes.end(), notes.begin(), notes.end());
    return finish("map entry like '@[…]: 4096'");
  }

 private:
  void take(std::string_view line) {
    if (histogram_) {
      if (const auto count = bucket(line)) return add_bucket(*count);
      end_histogram();
    }
    std::string_view rest = line;
    if (const auto map = take_map(rest)) return begin(*map, rest);
    if (!maps_.open()) return other(line);
    if (line.starts_with(',')) return separator(line);
    if (line.starts_with(']')) return end(line.substr(1));
    maps_.frame(line);
  }

  void other(std::string_view line) {
    if (!line.empty() && line != "^C" && !is_bpftrace_banner(line)) bad("not a map");
  }

  // `rest` begins with '[' or ':'.
  void begin(std::string_view map, std::string_view rest) {
    if (maps_.open()) bad("a stack before this line has no value");
    maps_.drop();
    if (rest.starts_with(": ")) return maps_.scalar(map, rest.substr(2));
    if (!rest.starts_with('[')) return bad("not a map");
    maps_.begin(map);
    keys_or_end(rest.substr(1));
  }

  // Keys up to a stack, which begins on the next line, or up to the value.
  void keys_or_end(std::string_view rest) {
    const size_t mark = rest.rfind(value_mark);
    if (mark != std::string_view::npos) {
      maps_.keys(rest.substr(0, mark), ", ");
      return end(rest.substr(mark + 1));
    }
    if (rest.ends_with("]:")) {  // an editor removed trailing blanks
      maps_.keys(rest.substr(0, rest.size() - 2), ", ");
      return end(":");
    }
    if (!rest.empty()) {
      rest.remove_suffix(rest.ends_with(", ") ? 2 : rest.ends_with(',') ? 1 : 0);
      maps_.keys(rest, ", ");
    }
    maps_.begin_stack();
  }

  void separator(std::string_view line) {
    line.remove_prefix(line.starts_with(", ") ? 2 : 1);
    keys_or_end(line);
  }

  // `rest` is ": VALUE".
  void end(std::string_view rest) {
    rest = trimmed(rest.substr(rest.starts_with(':') ? 1 : 0));
    if (rest.empty()) {
      histogram_ = true;
      buckets_ = 0;
      return;
    }
    values_.clear();
    if (!take_values(rest)) {
      maps_.drop();
      return bad("the value of a map is not a number");
    }
    maps_.add(values_);
  }

  bool value(std::string part, std::string_view text, bool counted = false) {
    const auto number = maps_.number(text);
    if (number) values_.push_back({std::move(part), *number, counted});
    return number.has_value();
  }

  // "12", "(1, 20)" or "count 50, average 10, total 500".
  bool take_values(std::string_view text) {
    if (text.starts_with("count ")) {
      text.remove_prefix(6);
      const bool good = value(".count", take_until(text, ", average "), true);
      take_until(text, ", total ");
      return good && value(".total", text);
    }
    if (!text.starts_with('(') || !text.ends_with(')')) return value("", text);
    text = text.substr(1, text.size() - 2);
    for (size_t i = 0; !text.empty(); ++i)
      if (!value("." + std::to_string(i), take_until(text, ", "))) return false;
    return !values_.empty();
  }

  void add_bucket(int64_t count) {
    if (!add_to(buckets_, count, Unit::count))
      throw Error("a histogram leaves the range of 64 bits");
  }

  void end_histogram() {
    if (!histogram_) return;
    histogram_ = false;
    maps_.add(std::vector<MapValue>{{"", buckets_, true}});
  }

  BpftraceMaps maps_{options};
  std::vector<MapValue> values_;
  bool histogram_ = false;
  int64_t buckets_ = 0;
};

}  // namespace

// A line that begins an entry or is a whole one.
bool is_bpftrace(std::string_view head) {
  std::string_view line;
  while (next_line(head, line)) {
    std::string_view rest = line;
    if (is_bpftrace_banner(line)) return true;
    if (!take_map(rest)) continue;
    if (rest.starts_with('[') && (rest.size() == 1 || rest.ends_with(", ") || rest.ends_with(',') ||
                                  rest.find(value_mark) != std::string_view::npos))
      return true;
  }
  return false;
}

Profile read_bpftrace(Source& source, const ReadOptions& options) {
  return BpftraceReader(source, options).run();
}

}  // namespace memflame
