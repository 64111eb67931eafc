// SPDX-License-Identifier: BSD-2-Clause
// bpftrace -f json: one object per line. A map is {"type": "map", "data": {"@name": {KEYS:
// VALUE}}}, where KEYS are as in the text but with "," between them, and stacks have one line per
// frame.
#include <array>

#include "collapse/inputs/text_reader.h"
#include "collapse/inputs/tracers/bpftrace_maps.h"
#include "collapse/text/json_number.h"
#include "collapse/text/json_tokens.h"
#include "core/error.h"

namespace memflame {
namespace {

// A key repeats if two stacks have the same names, so no object is built: all values are added.
class Handler {
 public:
  Handler(BpftraceMaps& maps, std::vector<std::string_view>& bad) : maps_(maps), bad_(bad) {}

  // Takes one line. False if it is not JSON from some byte on; what comes before counts.
  bool run(std::string_view line) {
    JsonTokens tokens{std::string(line)};
    while (read(tokens)) {
      if (tokens.kind() == JsonTokens::Kind::end) return true;
      take(tokens.kind(), tokens.text());
    }
    bad_.push_back("not valid JSON");
    return false;
  }

 private:
  // Nesting: an object of types, of maps, of entries; in an entry a tuple, statistics or a list of
  // buckets.
  static constexpr size_t levels = 6, entry_level = 3;

  static bool read(JsonTokens& tokens) {
    try {
      tokens.next();
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  void take(JsonTokens::Kind kind, std::string_view text) {
    using Kind = JsonTokens::Kind;
    switch (kind) {
      case Kind::begin_object:
      case Kind::begin_array:
        return begin(kind == Kind::begin_array);
      case Kind::end_object:
      case Kind::end_array:
        return end();
      case Kind::key:
        return key(text);
      case Kind::string:
        return string(text);
      case Kind::number:
        return number(text);
      case Kind::word:
        return other();
      case Kind::end:
        return;
    }
  }

  void key(std::string_view text) {
    if (depth_ < levels) keys_[depth_] = text;
    if (depth_ == 1 && text == "data")
      maps_of_data_ = type_ == "map" || type_ == "hist" || type_ == "stats";
  }

  void string(std::string_view text) {
    if (depth_ == 1 && keys_[1] == "type")
      type_ = text;
    else if (depth_ == 1)
      bad_.push_back("printed by the script");
    else
      other();
  }

  void begin(bool array) {
    if (++depth_ < levels) {
      arrays_[depth_] = array;
      keys_[depth_].clear();
    }
    if (depth_ == entry_level + 1) {
      values_.clear();
      buckets_ = 0;
      with_buckets_ = false;
    }
  }

  void end() {
    if (depth_ == entry_level + 1) end_entry();
    --depth_;
  }

  void end_entry() {
    if (!maps_of_data_) return;
    if (with_buckets_) values_ = {{"", buckets_, true}};
    if (values_.empty()) return bad_.push_back("the value of a map is not a number");
    add();
  }

  void add() {
    // The input has the name once, but each entry uses it.
    constexpr size_t longest_name = 255;
    if (map().size() > longest_name) return bad_.push_back("a map with so long a name");
    tell_keys(keys_[entry_level]);
    maps_.add(values_);
  }

  void other() {
    if (maps_of_data_ && depth_ >= 2) bad_.push_back("the value of a map is not a number");
  }

  std::string_view map() const {
    std::string_view name = keys_[2];
    if (name.starts_with('@')) name.remove_prefix(1);
    return name;
  }

  void number(std::string_view text) {
    JsonNumber parsed;
    if (!parse_json_number(text, parsed)) return bad_.push_back("not valid JSON");
    if (depth_ == 1 || !maps_of_data_) return;
    if (text.find_first_of(".eE") != std::string_view::npos) {
      int64_t near = 0;
      bool rounded = false;
      return parsed.scaled(0, near, rounded) ? other() : fail_beyond(text);
    }
    const std::optional<int64_t> value = maps_.number(text);
    if (!value) fail_beyond(text);
    integer(text, *value);
  }

  [[noreturn]] static void fail_beyond(std::string_view text) {
    throw Error("the number " + std::string(text.substr(0, 40)) + " leaves the range of 64 bits");
  }

  void integer(std::string_view text, int64_t value) {
    if (depth_ == 2) {
      maps_.scalar(map(), text);
    } else if (depth_ == entry_level) {
      values_ = {{"", value}};
      add();
    } else if (depth_ == entry_level + 1) {
      if (arrays_[depth_])
        values_.push_back({"." + std::to_string(values_.size()), value});
      else if (keys_[depth_] == "count" || keys_[depth_] == "total")
        values_.push_back({"." + keys_[depth_], value, keys_[depth_] == "count"});
    } else if (depth_ == entry_level + 2 && keys_[depth_] == "count") {
      with_buckets_ = true;
      if (!add_to(buckets_, value, Unit::count))
        throw Error("a histogram leaves the range of 64 bits");
    }
  }

  void tell_keys(std::string_view text) {
    maps_.begin(map());
    bool first = true;
    bool in_stack = false;
    while (true) {
      const bool last = text.find('\n') == std::string_view::npos;
      std::string_view line = take_until(text, "\n");
      if (!first && !line.starts_with(',')) {
        if (!line.empty()) maps_.frame(line);
      } else {
        if (in_stack) line.remove_prefix(1);
        if (!last && line.ends_with(',')) {
          line.remove_suffix(1);
          maps_.keys(line, ",");
        } else if (last || !line.empty()) {
          maps_.keys(line, ",");
        }
        if (!last) maps_.begin_stack();
        in_stack = !last;
      }
      if (last) return;
      first = false;
    }
  }

  BpftraceMaps& maps_;
  std::vector<std::string_view>& bad_;
  size_t depth_ = 0;
  std::array<std::string, levels> keys_;
  std::array<bool, levels> arrays_{};
  std::string type_;
  bool maps_of_data_ = false, with_buckets_ = false;
  std::vector<MapValue> values_;
  int64_t buckets_ = 0;
};

class BpftraceJsonReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    each_line([&](std::string_view line) { take(line); });
    std::vector<std::string> notes = std::move(profile.meta.notes);
    profile = maps_.finish();
    profile.meta.notes.insert(profile.meta.notes.end(), notes.begin(), notes.end());
    return finish(R"(map like '{"type": "map", "data": {"@": {…}}}')");
  }

 private:
  void take(std::string_view line) {
    if (trimmed(line).empty()) return;
    std::vector<std::string_view> found;
    Handler handler(maps_, found);
    const bool good = handler.run(line);
    for (const std::string_view why : found) bad(why);
    if (!good && !whole) cut_off("a part of its map is left out");
  }

  BpftraceMaps maps_{options};
};

}  // namespace

bool is_bpftrace_json(std::string_view head) {
  std::string_view line;
  while (next_line(head, line))
    if (!line.empty()) break;
  return line.starts_with(R"({"type": ")") && line.find(R"(", "data": )") != std::string_view::npos;
}

Profile read_bpftrace_json(Source& source, const ReadOptions& options) {
  return BpftraceJsonReader(source, options).run();
}

}  // namespace memflame
