// SPDX-License-Identifier: BSD-2-Clause
// The report of GHC's profiler (+RTS -p, -P, -pa): a tree of cost centres by indentation. -P and
// -pa print ticks and bytes of each stack, -p percentages of the total only.
//
//                                            individual      inherited
//   COST CENTRE MODULE SRC       no. entries  %time %alloc   %time %alloc  ticks     bytes
//
//   MAIN        MAIN   <built-in> 46       0    0.0    0.9     0.0  100.0      0       504
//    main       Main   a.hs:1:1-5 92       1   50.0   99.1    50.0   99.1      1     51016
#include <array>

#include "collapse/inputs/text_reader.h"
#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

constexpr std::string_view ghc_heading = "COST CENTRE";

// The last word of a text, removed from it.
std::string_view take_last(std::string_view& text) {
  text = trimmed(text);
  const size_t blank = text.find_last_of(" \t");
  const std::string_view word = blank == std::string_view::npos ? text : text.substr(blank + 1);
  text.remove_suffix(word.size());
  return word;
}

std::string_view take_first(std::string_view& text) {
  text = trimmed(text);
  const std::string_view word = text.substr(0, first_in(text, blank_bytes));
  text.remove_prefix(word.size());
  return word;
}

// "12.5" -> 125.
std::optional<int64_t> tenths(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos || dot + 2 != text.size()) return std::nullopt;
  const auto whole = integer(text.substr(0, dot));
  const auto part = integer(text.substr(dot + 1));
  constexpr int64_t highest = 100000;
  if (!whole || !part || *whole < 0 || *whole > highest) return std::nullopt;
  return *whole * 10 + *part;
}

bool is_tree_heading(std::string_view line) {
  return line.starts_with(ghc_heading) && line.find(" entries") != std::string_view::npos;
}

class Reader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    each_line([&](std::string_view line) { take(line); });
    if (!whole) cut_off("its last line may be cut off");
    return finish("tree of cost centres below a line with 'COST CENTRE' and 'entries'");
  }

 private:
  void take(std::string_view line) {
    if (is_tree_heading(line)) return begin(line);
    const std::string_view text = trimmed(line);
    if (in_tree_ && !text.empty()) return take_node(line);
    if (text.starts_with("total ") && text.find('=') != std::string_view::npos)
      profile.meta.notes.emplace_back(text);
  }

  void begin(std::string_view line) {
    in_tree_ = true;
    figures_ = line.find(" ticks") != std::string_view::npos &&
               line.find(" bytes") != std::string_view::npos;
    path_.clear();
    if (!profile.types.empty()) return;
    if (figures_) {
      profile.types = {{"time", Unit::count}, {"alloc", Unit::bytes}};
    } else {
      profile.types = {{"time_percent", Unit::count}, {"alloc_percent", Unit::count}};
      for (ValueType& type : profile.types) type.decimals = 1;
      profile.meta.notes.emplace_back("the report has percentages only: +RTS -P has bytes");
    }
    profile.shown = 1;
  }

  void take_node(std::string_view line) {
    const size_t depth = line.find_first_not_of(' ');
    std::string_view text = line;
    std::array<std::string_view, 8> words;  // no., entries, 4 percentages and 2 figures
    const size_t count = figures_ ? 8 : 6;
    for (size_t i = count; i-- > 0;) words[i] = take_last(text);
    const auto time = figures_ ? integer(words[6]) : tenths(words[2]);
    const auto alloc = figures_ ? integer(words[7]) : tenths(words[3]);
    const bool numbers = integer(words[0]).has_value() && integer(words[1]).has_value() &&
                         tenths(words[5]).has_value();
    const std::string_view name = take_first(text);
    const std::string_view module = take_first(text);
    if (!time || !alloc || !numbers || module.empty() || depth > path_.size())
      return bad("not a line of the tree");
    // Everything is below MAIN; mails and web pages may have lost the indentation.
    if (depth == 0 && !path_.empty())
      throw Error("the tree has a second root: its indentation is lost");
    path_.resize(depth);
    path_.push_back(push(path_.empty() ? StackId{} : path_.back(), name, module, trimmed(text)));
    profile.add(path_.back(), std::array{*time, *alloc});
  }

  StackId push(StackId caller, std::string_view name, std::string_view module,
               std::string_view place) {
    qualified_.assign(module).append(".").append(name);
    TextFrame frame{.function = qualified_, .module = module};
    // "a.hs:12:1-20" or "a.hs:(12,1)-(14,20)".
    const size_t colon = place.find(':');
    if (colon != std::string_view::npos) {
      frame.file = place.substr(0, colon);
      place.remove_prefix(colon + 1);
      if (place.starts_with('(')) place.remove_prefix(1);
      frame.line = static_cast<uint32_t>(
          integer(place.substr(0, std::min<size_t>(place.find_first_not_of("0123456789"), 9)))
              .value_or(0));
    }
    return profile.stacks.push(caller, intern(profile, frame, options));
  }

  bool in_tree_ = false, figures_ = false;
  std::vector<StackId> path_;
  std::string qualified_;
};

}  // namespace

bool is_ghc_prof(std::string_view head) {
  std::string_view line;
  while (next_line(head, line))
    if (line.find("Time and Allocation Profiling Report") != std::string_view::npos ||
        is_tree_heading(line))
      return true;
  return false;
}

Profile read_ghc_prof(Source& source, const ReadOptions& options) {
  return Reader(source, options).run();
}

}  // namespace memflame
