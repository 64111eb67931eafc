// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/folded/folded_head.h"

#include <algorithm>
#include <optional>

#include "collapse/inputs/folded/folded_numbers.h"
#include "collapse/inputs/readers.h"
#include "core/folded.h"

namespace memflame {
namespace {

// Whether the text is a part of one very long line: of a very deep stack.
bool is_part_of_a_line(std::string_view head) {
  return head.size() == Source::head_size && head.find(';') != std::string_view::npos &&
         !head.starts_with('{') && !head.starts_with('<') &&
         std::none_of(head.begin(), head.end(), [](char c) { return c >= 0 && c < ' '; });
}

bool is_comment(std::string_view line) {
  return line == "#" || line.starts_with("# ") || line.starts_with("#\t");
}

// "#define N", "net.ipv4.x =", "port:" and "12 3.5" before a number belong to other texts.
bool could_be_name(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t");
  text = text.substr(0, end + 1);  // npos + 1 is 0
  const std::string_view last = text.substr(text.find_last_of(" \t") + 1);
  constexpr std::string_view digits = "-+.,:0123456789";
  return !text.starts_with('#') && !text.ends_with(':') && last != "=" && last != ":=" &&
         last.find_first_not_of(digits) != std::string_view::npos;
}

// The line without the one or two numbers at its end.
std::string_view without_counts(std::string_view line, Counts counts) {
  for (int words = counts == Counts::two ? 2 : 1; words > 0; --words) {
    line = line.substr(0, line.find_last_not_of(" \t") + 1);
    line = line.substr(0, line.find_last_of(" \t") + 1);
  }
  return line;
}

}  // namespace

LineCounts count_lines(std::string_view head) {
  LineCounts lines;
  const bool whole = head.size() < Source::head_size;
  while (const std::optional<std::string_view> line = first_line(head, whole)) {
    if (is_comment(*line) || line->find_first_not_of(" \t") == std::string_view::npos) continue;
    ++lines.all;
    const Counts counts = counts_of(*line);
    if (counts == Counts::none) continue;
    ++lines.numbered;
    const std::string_view stack = without_counts(*line, counts);
    if (stack.find(';') != std::string_view::npos)
      ++lines.framed;
    else if (could_be_name(stack))
      ++lines.names;
  }
  return lines;
}

// Most lines end in a number, and at least a quarter of these have frames. With fewer frames the
// text may be any list or table; then each line must be a stack, or a name and a number.
bool is_folded(std::string_view head) {
  if (head.starts_with(folded_comment)) return true;
  if (is_part_of_a_line(head)) return true;
  const LineCounts lines = count_lines(head);
  if (lines.framed * 4 >= lines.numbered && lines.framed != 0)
    return lines.numbered * 2 > lines.all;
  return lines.all != 0 && lines.framed + lines.names == lines.all;
}

}  // namespace memflame
