// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/stacks/gdb_frame.h"

#include <algorithm>

namespace memflame {
namespace {

constexpr std::string_view operator_word = "operator";

// Where the list of arguments begins: the first " (" outside brackets. Names may hold brackets
// themselves: "(anonymous namespace)::f", "std::function<void (int)>::operator()".
size_t arguments_of(std::string_view text) {
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(operator_word)) {
      i += operator_word.size();
      while (i < text.size() && (text[i] == '<' || text[i] == '>' || text[i] == '-')) ++i;
      if (i >= text.size()) break;
    }
    const char c = text[i];
    if (c == '(' && depth == 0 && i > 0 && text[i - 1] == ' ') return i;
    if (c == '<' || c == '(')
      ++depth;
    else if ((c == ')' || (c == '>' && i > 0 && text[i - 1] != '-')) && depth > 0)
      --depth;
  }
  return text.find(" (") == std::string_view::npos ? text.size() : text.find(" (") + 1;
}

// The position after the bracket that closes the one at `begin`; strings and characters in it may
// hold brackets.
size_t end_of_arguments(std::string_view text, size_t begin) {
  size_t depth = 0;
  char quote = '\0';  // of an open string or character
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0' && c == '\\')
      ++i;
    else if (quote != '\0')
      quote = c == quote ? '\0' : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '(')
      ++depth;
    else if (c == ')' && --depth == 0)
      return i + 1;
  }
  return text.size();
}

}  // namespace

std::optional<int64_t> gdb_frame_number(std::string_view line) {
  constexpr size_t longest = 9;
  if (!line.starts_with('#')) return std::nullopt;
  const size_t end = line.find(' ');
  if (end > longest || line[1] == '-') return std::nullopt;
  return integer(line.substr(1, end - 1));
}

GdbFrame parse_gdb_frame(std::string_view line) {
  GdbFrame parsed;
  std::string_view text = trimmed(line.substr(std::min(line.find(' '), line.size())));
  if (text.starts_with("0x")) {
    const size_t in = text.find(" in ");
    if (in != std::string_view::npos && hex_address(text.substr(0, in))) {
      parsed.address = text.substr(0, in);
      text = trimmed(text.substr(in + 4));
    }
  }
  if (text.starts_with('<') && text.ends_with('>')) {
    parsed.special = true;
    parsed.frame.function = text;
    return parsed;
  }
  const size_t begin = arguments_of(text);
  const size_t end = end_of_arguments(text, begin);
  parsed.frame.function = trimmed(text.substr(0, begin));
  std::string_view rest = trimmed(text.substr(end));
  if (rest.starts_with("from ")) {
    parsed.frame.module = rest.substr(5);
  } else if (rest.starts_with("at ")) {
    rest.remove_prefix(3);
    if (const auto number = take_line_number(rest)) parsed.frame.line = *number;
    parsed.frame.file = rest;
  }
  if (parsed.frame.function.empty()) parsed.frame.function = "??";
  return parsed;
}

}  // namespace memflame
