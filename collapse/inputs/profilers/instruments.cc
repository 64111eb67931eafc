// SPDX-License-Identifier: BSD-2-Clause
// Instruments' "Deep Copy" of a call tree of allocations: inclusive figures, indented by depth.
//
//   Bytes Used<TAB>Count<TAB><TAB>Symbol Name
//    429.93 MB     100.0%<TAB>84671<TAB> <TAB>main
//    400.00 MB      93.0%<TAB>80000<TAB> <TAB> grow
#include <array>

#include "collapse/inputs/text_reader.h"

namespace memflame {
namespace {

constexpr uint8_t decimals = 2;

struct Size {
  std::string_view word;
  int64_t bytes;
};
constexpr std::array<Size, 5> units{{{"Bytes", 1},
                                     {"KB", int64_t{1} << 10U},
                                     {"MB", int64_t{1} << 20U},
                                     {"GB", int64_t{1} << 30U},
                                     {"TB", int64_t{1} << 40U}}};

// "429.93 MB     100.0%" in hundredths of a byte.
std::optional<int64_t> hundredths(std::string_view text) {
  text = trimmed(text);
  std::string_view whole = take_until(text, " ");
  const std::string_view unit = take_until(text, " ");
  std::string_view number = whole;
  whole = take_until(number, ".");
  if (number.size() > decimals) return std::nullopt;
  const auto left = integer(whole);
  const auto right = number.empty() ? 0 : integer(number);
  if (!left || !right || *left < 0 || *right < 0) return std::nullopt;
  const int64_t part = number.size() == 1 ? *right * 10 : *right;
  for (const Size& size : units) {
    if (unit != size.word) continue;
    int64_t value = 0;
    if (__builtin_mul_overflow(*left, 100, &value) || __builtin_add_overflow(value, part, &value) ||
        __builtin_mul_overflow(value, size.bytes, &value))
      throw Error("a size leaves the range of 64 bits");
    return value;
  }
  return std::nullopt;
}

bool is_heading(std::string_view line) {
  return line.starts_with("Bytes Used\t") && line.ends_with("Symbol Name");
}

class InstrumentsReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {{"bytes", Unit::bytes}, {"count", Unit::count}};
    profile.types[0].decimals = decimals;
    each_line([&](std::string_view line) { take(line); });
    if (!whole) cut_off("its last line may be cut off");
    profile.meta.notes.emplace_back("sizes are rounded as Instruments printed them");
    return finish("line like ' 429.93 MB     100.0%\\t84671\\t \\tmain'");
  }

 private:
  struct Level {
    size_t indent;
    StackId stack;
  };

  void take(std::string_view line) {
    if (trimmed(line).empty() || is_heading(line)) return;
    std::string_view rest = line;
    const auto bytes = hundredths(take_until(rest, "\t"));
    const auto count = integer(trimmed(take_until(rest, "\t")));
    take_until(rest, "\t");  // an icon
    const size_t indent = rest.find_first_not_of(' ');
    if (!bytes || !count || *count < 0 || indent == std::string_view::npos)
      return bad("not a line of a call tree");
    while (!path_.empty() && path_.back().indent >= indent) path_.pop_back();
    const StackId caller = path_.empty() ? StackId{} : path_.back().stack;
    path_.push_back({indent, profile.push(caller, trimmed(rest))});
    profile.add(path_.back().stack, std::array{*bytes, *count});
    if (caller) profile.add(caller, std::array{-*bytes, -*count});
  }

  std::vector<Level> path_;
};

}  // namespace

bool is_instruments(std::string_view head) { return is_heading(take_until(head, "\n")); }

Profile read_instruments(Source& source, const ReadOptions& options) {
  return InstrumentsReader(source, options).run();
}

}  // namespace memflame
