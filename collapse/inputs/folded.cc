#include "core/folded.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "collapse/input.h"
#include "collapse/inputs/folded_comment.h"
#include "collapse/issues.h"
#include "collapse/lines.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

// Brackets around a name are put there by the tools. These are said by memflame itself; others
// stand for code without a name ("[libfoo.so+0x12]", "[unknown]").
FrameKind bracketed(std::string_view name) {
  for (const std::string_view note : {"[lost", "[truncated", "[exec:", "[by another task", "[anon]",
                                      "[file]", "[shared]", "[PROT_NONE]"})
    if (name.starts_with(note)) return FrameKind::note;
  return FrameKind::unknown;
}

class FoldedReader {
 public:
  FoldedReader(Source& source, const ReadOptions& options) : options_(options), lines_(source) {}

  Profile run() {
    profile_.types.resize(1);
    while (lines_.next()) {
      try {
        take(lines_.line());
      } catch (const Error& error) {
        lines_.fail(error.what());
      }
    }
    if (lines_.number() == 0) lines_.fail("it is empty; expected lines like 'main;parse;f 4096'");
    if (profile_.touched().empty() && !comments_.any())
      lines_.fail("no line has the form 'main;parse;f 4096'" +
                  (issues_.any() ? "; " + issues_.texts().front() : ""));
    const ValueType unknown{"count", Unit::count};
    profile_.types[0] = comments_.type().value_or(options_.type.value_or(unknown));
    issues_.finish(profile_);
    comments_.finish(profile_);
    return std::move(profile_);
  }

 private:
  void take(std::string_view line) {
    if (line.starts_with(folded_comment)) {
      if (!comments_.take(line)) bad(line, "a damaged comment of memflame's");
      return;
    }
    if (line == "#" || line.starts_with("# ") || line.starts_with("#\t")) return;
    line = line.substr(0, line.find_last_not_of(" \t") + 1);
    if (line.empty()) return;
    const size_t separator = line.find_last_of(" \t");
    if (separator == std::string_view::npos) return bad(line, "no number at its end");
    const std::string_view number = line.substr(separator + 1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error == std::errc::result_out_of_range)
      throw Error("its number leaves the range of 64 bits");
    if (error != std::errc{} || end != number.data() + number.size())
      return bad(line, "no integer at its end");
    profile_.add(push_all(line.substr(0, separator)), std::array{value});
  }

  void bad(std::string_view line, std::string_view why) { issues_.add(why, lines_.number(), line); }

  StackId push_all(std::string_view stack) {
    StackId top;
    while (true) {
      const size_t end = stack.find(';');
      top = push(top, stack.substr(0, end));
      if (end == std::string_view::npos) return top;
      stack.remove_prefix(end + 1);
    }
  }

  StackId push(StackId caller, std::string_view name) {
    for (const FoldedSuffix& suffix : folded_suffixes)
      if (name.ends_with(suffix.text))
        return profile_.push(caller, name.substr(0, name.size() - suffix.text.size()), suffix.kind);
    if (name.starts_with('[') && name.ends_with(']'))
      return profile_.push(caller, name, bracketed(name));
    const bool process = !caller && comments_.roots_are_processes();
    return profile_.push(caller, name, process ? FrameKind::process : FrameKind::user);
  }

  const ReadOptions& options_;
  Lines lines_;
  FoldedComments comments_;
  Profile profile_;
  Issues issues_;
};

}  // namespace

// Some line of the beginning ends in a blank and a number.
bool is_folded(std::string_view head) {
  if (head.starts_with(folded_comment)) return true;
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(head.size(), line.size() + 1));
    const size_t last = line.find_last_not_of(" \t\r");
    const size_t blank = line.find_last_of(" \t", last);
    if (blank == std::string_view::npos || last == blank) continue;
    const std::string_view number = line.substr(blank + 1, last - blank);
    if (number.find_first_not_of("0123456789.-") == std::string_view::npos) return true;
  }
  return false;
}

Profile read_folded(Source& source, const ReadOptions& options) {
  return FoldedReader(source, options).run();
}

}  // namespace memflame
