// SPDX-License-Identifier: BSD-2-Clause
// Stacks that a SystemTap script prints with print_stack(), print_ustack() or print_backtrace(),
// each with a number on a line below:
//
//    0xffffffff8107a2e5 : try_to_wake_up+0x15/0x2e0 [kernel]
//    0x400526 : main+0x9/0x10 at /src/a.c:12 [/usr/bin/a.out]     …_fileline(): with a place
//    0x7f2e81 [/usr/lib/libc.so.6+0x2e81/0x1e7000]                no name
//   	2404
//
// A return probe prints the function that returns first: "Returning from:  0x… : f [kernel]",
// "Returning to  :  0x… : g [kernel]".
#include <array>

#include "collapse/inputs/text_reader.h"

namespace memflame {
namespace {

std::string_view without_return(std::string_view text) {
  for (const std::string_view begin : {"Returning from:", "Returning to  :"})
    if (text.starts_with(begin)) return trimmed(text.substr(begin.size()));
  return text;
}

bool is_systemtap_frame(std::string_view text) {
  text = without_return(text);
  if (!text.starts_with("0x") || !hex_address(take_until(text, " "))) return false;
  return text.empty() || text.starts_with(": ") || text.starts_with("[") || text == "(inexact)";
}

// "f+0x9/0x10 at /src/a.c:12"; a name may hold " at " itself.
void take_systemtap_place(TextFrame& frame) {
  const size_t at = frame.function.rfind(" at ");
  if (at == std::string_view::npos) return;
  const std::string_view before = frame.function.substr(0, at);
  if (without_offset(before) == before && !before.ends_with(']')) return;
  frame.file = frame.function.substr(at + 4);
  if (const auto line = take_line_number(frame.file)) frame.line = *line;
  frame.function = before;
}

TextFrame parse_systemtap_frame(std::string_view line, const ReadOptions& options) {
  constexpr std::string_view inexact = " (inexact)";
  std::string_view text = without_return(trimmed(line));
  if (text.ends_with(inexact)) text.remove_suffix(inexact.size());
  const std::string_view address = take_until(text, " ");
  if (text.starts_with(": ")) text.remove_prefix(2);
  TextFrame frame{.function = trimmed(text)};
  if (frame.function.ends_with(']')) {
    frame.module = without_offset(take_bracketed(frame.function, '[', ']').value_or(""));
    take_systemtap_place(frame);
  } else {
    take_systemtap_place(frame);
    frame.module = without_offset(take_bracketed(frame.function, '[', ']').value_or(""));
  }
  if (frame.module == "kernel" || is_kernel_address(hex_address(address).value_or(0)))
    frame.kind = FrameKind::kernel;
  if (frame.function.empty() || hex_address(frame.function)) {
    frame.function = options.addresses ? address : "[unknown]";
    if (frame.kind == FrameKind::user) frame.kind = FrameKind::unknown;
  } else if (!options.offsets) {
    frame.function = without_offset(frame.function);
  }
  return frame;
}

class SystemtapReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {options.type.value_or(ValueType{"count", Unit::count})};
    each_line([&](std::string_view line) { take(line); });
    end_of_stacks(!frames_.empty(), "the last number");
    return finish("stack of lines like '0x400526 : main+0x9/0x10 [a.out]' with a number below it");
  }

 private:
  void take(std::string_view line) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text == "0x0") return;  // a stack may end in 0
    if (is_systemtap_frame(text)) {
      frames_.push_back(
          frame(line, [&](std::string_view all) { return parse_systemtap_frame(all, options); }));
      return;
    }
    const auto value = integer(text);
    if (!value || frames_.empty()) return bad("neither a frame nor a number below frames");
    profile.add(push_leaf_first(profile, {}, frames_), std::array{*value});
    frames_.clear();
  }

  std::vector<FrameId> frames_;
};

}  // namespace

bool is_systemtap(std::string_view head) {
  std::string_view line;
  while (next_line(head, line)) {
    const std::string_view text = trimmed(line);
    if (is_systemtap_frame(text) && (text.ends_with(']') || text.ends_with("(inexact)")))
      return true;
  }
  return false;
}

Profile read_systemtap(Source& source, const ReadOptions& options) {
  return SystemtapReader(source, options).run();
}

}  // namespace memflame
