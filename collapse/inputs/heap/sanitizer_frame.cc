// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/sanitizer_frame.h"

namespace memflame {
namespace {

constexpr size_t no_place = std::string_view::npos;

// Takes " (BuildId: 432a…)" off the end.
void drop_build_id(std::string_view& text) {
  const size_t at = text.rfind("(BuildId: ");
  if (at == no_place || !text.ends_with(')')) return;
  text = trimmed(text.substr(0, at));
}

// Takes "(/lib/libx.so+0x118f)" or "(<unknown module>)" off the end. A path may have blanks and
// brackets, so it begins at the first bracket with a slash behind it.
bool take_module(std::string_view& text, SanitizerFrame& into) {
  if (!text.ends_with(')')) return false;
  size_t begin = text.starts_with("(/") ? 0 : text.find(" (/");
  if (begin == no_place) begin = text.rfind('(');
  if (begin == no_place) return false;
  std::string_view place = trimmed(text.substr(begin));
  place = place.substr(1, place.size() - 2);
  const size_t plus = place.rfind("+0x");
  const bool has_offset = plus != no_place && is_hex(place.substr(plus + 3));
  if (!has_offset && place != "<unknown module>") return false;
  if (has_offset) {
    into.offset = place.substr(plus + 1);
    into.frame.module = place.substr(0, plus);
  }
  text = trimmed(text.substr(0, begin));
  return true;
}

// Takes " /src/f.cc:12:5" off the end. The path may have blanks if it begins with a slash: no
// function has a blank and a slash in its name.
void take_sanitizer_place(std::string_view& text, TextFrame& frame) {
  std::string_view path = text;
  std::optional<uint32_t> line = take_line_number(path);
  if (!line) return;
  if (const auto before_column = take_line_number(path)) line = before_column;
  size_t blank = path.find(" /");
  if (blank == no_place) blank = path.rfind(' ');
  if (blank == no_place || blank + 1 == path.size()) return;
  frame.file = path.substr(blank + 1);
  frame.line = *line;
  text = trimmed(text.substr(0, blank));
}

}  // namespace

SanitizerFrame parse_sanitizer_frame(std::string_view text) {
  SanitizerFrame parsed;
  text = trimmed(text);
  drop_build_id(text);
  const bool has_function = text.starts_with("in ");
  if (has_function) text.remove_prefix(3);
  if (!take_module(text, parsed)) take_sanitizer_place(text, parsed.frame);
  if (text != "<null>" && text != "??") parsed.frame.function = text;
  return parsed;
}

}  // namespace memflame
