// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/macos/mac_frame.h"

#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

constexpr std::string_view hex_mark = "0x";

// "main.c:28"; a line of 0 is unknown.
void set_mac_file(MacFrame& frame, std::string_view text) {
  text = trimmed(text);
  const auto line = take_line_number(text);
  frame.file = text;
  frame.line = line.value_or(0);
}

// Takes "0x104582770" off the front.
std::string_view take_address(std::string_view& text) {
  if (!text.starts_with(hex_mark)) return {};
  const size_t digits = first_not_in(text.substr(hex_mark.size()), hex_bytes);
  const std::string_view address = text.substr(0, hex_mark.size() + digits);
  if (digits != 0) text.remove_prefix(address.size());
  return digits != 0 ? address : std::string_view{};
}

// "main.c:28", and nothing that a name could end in.
bool is_file_with_line(std::string_view word) {
  const size_t colon = word.rfind(':');
  if (colon == std::string_view::npos || !all_in(word.substr(colon + 1), digit_bytes)) return false;
  const std::string_view file = word.substr(0, colon);
  return file.find('.') != std::string_view::npos && file.find_first_of("():") == file.npos;
}

// Takes "  main.c:28" off the end.
void take_mac_file(MacFrame& frame, std::string_view& text) {
  const size_t blank = text.rfind(' ');
  if (blank == std::string_view::npos || !is_file_with_line(text.substr(blank + 1))) return;
  set_mac_file(frame, text.substr(blank));
  text = trimmed(text.substr(0, blank));
}

// What is behind the module of a frame in a tree: " + 164  [0x104582770]  main.c:28",
// "  load address 0x104580000 + 0x2770  [0x104582770]".
void take_tree_tail(MacFrame& frame, std::string_view text) {
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    if (text.starts_with("+ ")) {
      text.remove_prefix(2);
      frame.offset = take_until(text, " ");
    } else if (text.starts_with("load address ")) {
      take_until(text, " + ");
      frame.place = take_until(text, " ");
    } else if (text.starts_with("[")) {
      std::string_view addresses = take_until(text, "]").substr(1);
      frame.address = take_until(addresses, ",");
    } else {
      return set_mac_file(frame, text);
    }
  }
}

// Where the name of a module in "(in Helper (Renderer)) + 12" ends.
size_t module_end(std::string_view text) {
  size_t at = text.find(')');
  while (at != std::string_view::npos && at + 1 < text.size() && text[at + 1] != ' ')
    at = text.find(')', at + 1);
  if (at == std::string_view::npos) return at;
  // A blank and a bracket go on with the name.
  for (size_t next = at; text.substr(next + 1).starts_with(" (");) {
    next = text.find(')', next + 1);
    if (next == std::string_view::npos) return at;
    at = next;
  }
  return at;
}

bool is_no_symbol(std::string_view function) {
  return function.empty() || function == "???" || function.starts_with(hex_mark);
}

bool is_no_module(std::string_view module) {
  return module.empty() || module == "???" || module == "<unknown binary>";
}

// "main + 164"; several offsets are "328,340,...".
void set_mac_function(MacFrame& frame, std::string_view text) {
  constexpr ByteSet offset_bytes = byte_set("0123456789,.");
  constexpr std::string_view plus = " + ";
  frame.function = text;
  const size_t at = text.rfind(plus);
  if (at == std::string_view::npos || at == 0) return;
  if (!all_in(text.substr(at + plus.size()), offset_bytes)) return;
  frame.function = text.substr(0, at);
  frame.offset = text.substr(at + plus.size());
}

}  // namespace

MacFrame parse_tree_frame(std::string_view text) {
  constexpr std::string_view in = "  (in ";
  MacFrame frame;
  const size_t at = text.find(in);
  if (at == std::string_view::npos) {
    const size_t bracket = text.rfind("  [0x");
    if (bracket != std::string_view::npos) take_tree_tail(frame, text.substr(bracket));
    set_mac_function(frame, trimmed(text.substr(0, bracket)));
    return frame;
  }
  const std::string_view rest = text.substr(at + in.size());
  const size_t end = module_end(rest);
  frame.module = rest.substr(0, end);
  if (end != std::string_view::npos) take_tree_tail(frame, rest.substr(end + 1));
  frame.function = trimmed(text.substr(0, at));
  return frame;
}

MacFrame parse_piped_frame(std::string_view text) {
  MacFrame frame;
  text = trimmed(text);
  frame.address = take_address(text);
  text = trimmed(text);
  if (!frame.address.empty() && text.starts_with("(")) {
    const size_t end = module_end(text.substr(1));
    if (end != std::string_view::npos) {
      frame.module = text.substr(1, end);
      text = trimmed(text.substr(end + 2));
    }
  }
  take_mac_file(frame, text);
  set_mac_function(frame, text);
  return frame;
}

std::optional<MacFrame> parse_listed_frame(std::string_view line) {
  const size_t digits = first_not_in(line, digit_bytes);
  if (digits == 0 || !line.substr(digits).starts_with(' ')) return std::nullopt;
  line = trimmed(line.substr(digits));
  const size_t at = line.find(" 0x");
  if (at == std::string_view::npos) return std::nullopt;
  MacFrame frame;
  frame.module = trimmed(line.substr(0, at));
  line.remove_prefix(at + 1);
  frame.address = take_address(line);
  if (frame.address.empty()) return std::nullopt;
  line = trimmed(line);
  take_mac_file(frame, line);
  set_mac_function(frame, line);
  return frame;
}

std::string_view take_piped_thread(std::string_view& text) {
  constexpr std::string_view old_mark = "thread_", mark = "[thread ";
  text = trimmed(text);
  std::string_view thread, rest = text;
  if (text.starts_with(old_mark)) {
    thread = trimmed(take_until(rest, "|")).substr(old_mark.size());
  } else if (text.starts_with(mark)) {
    rest.remove_prefix(mark.size());
    thread = take_until(rest, "]:");
    rest = trimmed(rest);
    if (rest.starts_with('|')) rest.remove_prefix(1);
  }
  text = trimmed(rest);
  return thread;
}

TextFrame text_frame(const MacFrame& frame, const ReadOptions& options, std::string& storage) {
  TextFrame made{.function = frame.function,
                 .module = is_no_module(frame.module) ? std::string_view{} : frame.module,
                 .file = frame.file,
                 .line = frame.line};
  if (!is_no_symbol(frame.function)) {
    if (!options.offsets || frame.offset.empty()) return made;
    storage = std::string(frame.function) + " + " + std::string(frame.offset);
    made.function = storage;
    return made;
  }
  made.kind = FrameKind::unknown;
  if (options.addresses && !frame.address.empty()) {
    made.function = frame.address;
    return made;
  }
  storage = made.module.empty() ? "unknown" : std::string(made.module);
  if (!frame.place.empty()) storage += "+" + std::string(frame.place);
  storage = "[" + storage + "]";
  made.function = storage;
  return made;
}

bool MacProcess::take(std::string_view line) {
  constexpr std::string_view mark = "Process:";
  if (!line.starts_with(mark)) return false;
  std::string_view text = trimmed(line.substr(mark.size()));
  const auto number = take_bracketed(text, '[', ']');
  if (!number || !all_in(*number, digit_bytes)) return false;
  name = trimmed(text);
  pid = *number;
  return true;
}

}  // namespace memflame
