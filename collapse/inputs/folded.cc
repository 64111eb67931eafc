#include "core/folded.h"

#include <charconv>
#include <optional>

#include "collapse/input.h"
#include "collapse/inputs/folded_comment.h"
#include "collapse/inputs/lines.h"
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
  FoldedReader(std::istream& in, const ReadOptions& options) : options_(options), lines_(in) {}

  Profile run() {
    profile_.types.resize(1);
    while (lines_.next()) {
      try {
        take(lines_.line());
      } catch (const Error& error) {
        fail("line " + std::to_string(lines_.number()) + ": " + error.what());
      }
    }
    if (lines_.failed()) fail("it cannot be read to its end");
    if (lines_.number() == 0) fail("it is empty; expected lines like 'main;parse;f 4096'");
    if (profile_.touched().empty() && !comments_.any())
      fail("no line has the form 'main;parse;f 4096'" + first_bad_);
    const ValueType unknown{"count", Unit::count};
    profile_.types[0] = comments_.type().value_or(options_.type.value_or(unknown));
    if (!first_bad_.empty()) profile_.meta.notes.push_back("not understood" + first_bad_);
    comments_.finish(profile_);
    return std::move(profile_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(options_.name + ": " + what);
  }

  void take(std::string_view line) {
    if (lines_.number() == 1) line = without_mark(line);
    if (lines_.cut()) return bad(line, "longer than " + iec_bytes(Lines::max_length));
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

  static std::string_view without_mark(std::string_view line) {
    if (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF"))
      throw Error("this is UTF-16; convert it with 'iconv -f UTF-16 -t UTF-8'");
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    return line;
  }

  void bad(std::string_view line, const std::string& why) {
    profile_.losses.add(Loss::input_line, 1);
    if (!first_bad_.empty()) return;
    constexpr size_t excerpt = 60;
    first_bad_ = ": line " + std::to_string(lines_.number()) + " (" + why + "): '" +
                 std::string(line.substr(0, excerpt)) + (line.size() > excerpt ? "…'" : "'");
  }

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
  std::string first_bad_;
};

}  // namespace

Profile read_folded(std::istream& in, const ReadOptions& options) {
  return FoldedReader(in, options).run();
}

}  // namespace memflame
