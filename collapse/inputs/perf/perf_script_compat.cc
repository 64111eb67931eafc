// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_script_compat.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>

#include "collapse/inputs/perf/perf_script_inline.h"
#include "collapse/text/lines.h"
#include "core/error.h"
#include "core/re2_text.h"

namespace memflame {
namespace {

// The patterns of the Perl script, with \s, \S, \d and \w as Perl matches them in bytes.
constexpr const char* header_pattern =
    R"(^([^\t\n\v\f\r ].+?)[\t\n\v\f\r ]+([0-9]+)/*([0-9]+)*[\t\n\v\f\r ]+)";
constexpr const char* event_pattern =
    R"(:[\t\n\v\f\r ]*([0-9]+)*[\t\n\v\f\r ]+([^\t\n\v\f\r ]+):[\t\n\v\f\r ]*$)";
constexpr const char* frame_pattern =
    R"(^[\t\n\v\f\r ]*([0-9A-Za-z_]+)[\t\n\v\f\r ]*(.+) \((.*)\))";

RE2::Options bytes() {
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  return options;
}

bool is_true(std::string_view text) { return !text.empty() && text != "0"; }

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Takes the same steps as the Perl script, line by line.
class Collapser {
 public:
  Collapser(Source& source, const ReadOptions& options)
      : source_(source), lines_(source), options_(options) {
    profile_.types.push_back({"count", Unit::count});
    if (!options.events.empty()) filter_ = options.events.front();
  }

  Profile run() {
    while (lines_.next()) take(lines_.line());
    flush();
    if (profile_.touched().empty()) source_.fail("there is no stack in it");
    return std::move(profile_);
  }

 private:
  void take(std::string_view line) {
    if (line.starts_with('#')) return;
    if (line.empty()) return flush();
    Re2Text comm, pid, tid;
    if (RE2::PartialMatch(re2_text(line), header_, &comm, &pid, &tid))
      return begin(line, from_re2(comm), from_re2(pid), from_re2(tid));
    frame(line);
  }

  void begin(std::string_view line, std::string_view comm, std::string_view pid,
             std::string_view tid) {
    if (!is_true(tid)) {
      tid = pid;
      pid = "?";
    }
    Re2Text period, event;
    if (RE2::PartialMatch(re2_text(line), event_, &period, &event)) {
      const std::string_view name = from_re2(event);
      if (filter_.empty()) filter_ = name;
      if (name != filter_) return;
    }
    weight_ = number(from_re2(period));
    root_ = comm;
    if (options_.pid || options_.tid) root_.append("-").append(pid);
    if (options_.tid) root_.append("/").append(tid);
    std::replace(root_.begin(), root_.end(), ' ', '_');
    is_java_ = root_.starts_with("java");
  }

  int64_t number(std::string_view text) const {
    if (!is_true(text)) return 1;
    int64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{})
      lines_.fail("its period leaves the range of 64 bits");
    return value;
  }

  void flush() {
    if (root_.empty()) return;
    StackId top = profile_.push({}, root_);
    for (size_t i = stack_.size(); i-- > 0;) top = profile_.push(top, stack_[i]);
    const std::array<int64_t, 1> value{weight_};
    profile_.add(top, value);
    stack_.clear();
    root_.clear();
  }

  void frame(std::string_view line) {
    Re2Text pc, function, module;
    if (!RE2::PartialMatch(re2_text(line), frame_, &pc, &function, &module) || root_.empty())
      return;
    frame(std::string(pc), std::string(function), std::string(module));
  }

  void frame(const std::string& pc, std::string raw, const std::string& module) {
    if (options_.mark_inlined && !RE2::PartialMatch(module, no_file_)) {
      const std::vector<std::string>& functions = inline_.at(pc, raw, module);
      stack_.insert(stack_.end(), functions.rbegin(), functions.rend());
      if (!functions.empty()) return;
    }
    RE2::Replace(&raw, offset_, "");
    if (raw.starts_with('(')) return;
    std::vector<std::string> parts = split(raw);
    // Each part is compared with the module's name and may take it, and parts times the length of
    // the name may be too much.
    constexpr size_t most_bytes = size_t{1} << 28U;
    if (parts.size() > most_bytes / (module.size() + pc.size() + 1))
      lines_.fail("a frame of too many functions in a module of so long a name");
    // Parts after an arrow are inlined into the one before it: leaf last.
    std::vector<std::string> done;
    for (std::string& part : parts) {
      const bool unknown = part == "[unknown]" && module == "[unknown]";
      if (part == "[unknown]") part = unknown_name(pc, module);
      tidy(part);
      mark(part, module, !done.empty());
      if (options_.lines && !unknown) add_source(part);
      done.push_back(std::move(part));
    }
    stack_.insert(stack_.end(), std::make_move_iterator(done.rbegin()),
                  std::make_move_iterator(done.rend()));
  }

  // Splits at "->", without empty parts at the end.
  static std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> parts;
    while (true) {
      const size_t arrow = text.find("->");
      parts.emplace_back(text.substr(0, arrow));
      if (arrow == std::string_view::npos) break;
      text.remove_prefix(arrow + 2);
    }
    while (!parts.empty() && parts.back().empty()) parts.pop_back();
    return parts;
  }

  std::string unknown_name(const std::string& pc, std::string_view module) const {
    std::string name(module == "[unknown]" ? "unknown" : module.substr(module.rfind('/') + 1));
    if (options_.addresses) name += " <" + pc + ">";
    return "[" + name + "]";
  }

  void tidy(std::string& name) const {
    std::replace(name.begin(), name.end(), ';', ':');
    if (!RE2::PartialMatch(name, go_method_)) {
      constexpr std::string_view kept = "(anonymous namespace)";
      size_t open = name.find('(');
      while (open != std::string::npos && std::string_view(name).substr(open).starts_with(kept))
        open = name.find('(', open + 1);
      if (open != std::string::npos) name.resize(open);
    }
    std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
    if (is_java_ && has(name, "/") && name.starts_with('L')) name.erase(0, 1);
  }

  void mark(std::string& name, const std::string& module, bool is_inlined) const {
    if (is_inlined) {
      if (!has(name, "_[i]")) name += "_[i]";
    } else if (options_.mark_kernel && (module.starts_with('[') || module.ends_with("vmlinux")) &&
               !has(module, "unknown")) {
      name += "_[k]";
    } else if (options_.mark_jit && RE2::PartialMatch(module, perf_map_)) {
      if (!has(name, "_[j]")) name += "_[j]";
    }
  }

  // Appends the source place, which is on the line below the frame.
  void add_source(std::string& name) {
    if (!lines_.next()) return;
    std::string place(lines_.line());
    RE2::GlobalReplace(&place, brackets_, "");
    constexpr const char* blanks = "\t\n\v\f\r ";
    place.erase(0, place.find_first_not_of(blanks));
    place.erase(place.find_last_not_of(blanks) + 1);
    if (!place.empty()) name += ":" + place;
  }

  Source& source_;
  Lines lines_;
  const ReadOptions& options_;
  Profile profile_;

  const RE2 header_{header_pattern, bytes()};
  const RE2 event_{event_pattern, bytes()};
  const RE2 frame_{frame_pattern, bytes()};
  const RE2 offset_{R"(\+0x[0-9a-f]+$)", bytes()};
  const RE2 go_method_{R"(\.\(.*\)\.)", bytes()};
  const RE2 perf_map_{R"(/tmp/perf-[0-9]+\.map)", bytes()};
  const RE2 no_file_{R"(perf-[0-9]+.map|kernel\.|\[[^\]]+\])", bytes()};
  const RE2 brackets_{R"(\[.*?\])", bytes()};

  PerfInline inline_{options_.context};

  std::string filter_;
  std::string root_;  // "" outside of a sample that counts
  bool is_java_ = false;
  int64_t weight_ = 1;
  std::vector<std::string> stack_;  // from the leaf on
};

}  // namespace

Profile read_perf_script_compat(Source& source, const ReadOptions& options) {
  return Collapser(source, options).run();
}

}  // namespace memflame
