// Stacks that a SystemTap script prints with print_stack(), print_ustack() or print_backtrace(),
// each with a number on a line below:
//
//    0xffffffff8107a2e5 : try_to_wake_up+0x15/0x2e0 [kernel]
//    0x400526 : main+0x9/0x10 [/usr/bin/a.out]
//   	2404
#include <array>

#include "collapse/inputs/text_reader.h"

namespace memflame {
namespace {

constexpr std::string_view separator = " : ";

bool is_frame(std::string_view text) {
  const size_t end = text.find(separator);
  return text.starts_with("0x") && end != std::string_view::npos &&
         hex_address(text.substr(0, end));
}

TextFrame parse(std::string_view line, const ReadOptions& options) {
  constexpr std::string_view inexact = " (inexact)";
  std::string_view text = trimmed(line);
  if (text.ends_with(inexact)) text.remove_suffix(inexact.size());
  const std::string_view address = take_until(text, separator);
  TextFrame frame{.function = trimmed(text)};
  if (const auto module = take_bracketed(frame.function, '[', ']'))
    frame.module = without_offset(*module);
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

class Reader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.types = {options.type.value_or(ValueType{"count", Unit::count})};
    each_line([&](std::string_view line) { take(line); });
    if (!frames_.empty()) {
      bad("a stack without its value");
      cut_off("it has no value and is left out");
    } else if (!whole) {
      cut_off("the last number may be cut off");
    }
    return finish("stack of lines like '0x400526 : main+0x9/0x10 [a.out]' with a number below it");
  }

 private:
  void take(std::string_view line) {
    const std::string_view text = trimmed(line);
    if (text.empty()) return;
    if (is_frame(text)) {
      frames_.push_back(frame(line, [&](std::string_view all) { return parse(all, options); }));
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
    if (is_frame(text) && (text.ends_with(']') || text.ends_with("(inexact)"))) return true;
  }
  return false;
}

Profile read_systemtap(Source& source, const ReadOptions& options) {
  return Reader(source, options).run();
}

}  // namespace memflame
