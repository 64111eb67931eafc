// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/valgrind_label.h"

#include <charconv>
#include <string>

#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

bool is_number(std::string_view text, uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// Takes "(in /lib/x.so)", "(file.c:12)" or, from Rust's dhat, "(file.rs:12:5)" off the end of a
// name.
void take_place(ValgrindLabel& label) {
  constexpr std::string_view module_mark = " (in ";
  std::string_view& name = label.function;
  if (!name.ends_with(')')) return;
  const size_t module = name.rfind(module_mark);
  if (module != std::string_view::npos) {
    label.module = name.substr(module + module_mark.size());
    label.module.remove_suffix(1);
    name = name.substr(0, module);
    return;
  }
  const size_t begin = name.rfind(" (");
  const size_t colon = name.rfind(':');
  if (begin == std::string_view::npos || colon == std::string_view::npos || colon <= begin + 2)
    return;
  uint32_t line = 0;
  if (!is_number(name.substr(colon + 1, name.size() - colon - 2), line)) return;
  label.file = name.substr(begin + 2, colon - begin - 2);
  label.line = line;
  const size_t before = label.file.rfind(':');
  if (before != std::string_view::npos && is_number(label.file.substr(before + 1), line)) {
    label.line = line;
    label.file = label.file.substr(0, before);
  }
  name = name.substr(0, begin);
}

std::string in_module(std::string_view module) {
  module.remove_prefix(module.rfind('/') + 1);
  return module.empty() ? "[unknown]" : "[" + std::string(module) + "]";
}

// An address beyond 64 bits is not one.
uint64_t address_of(const ValgrindLabel& label) {
  constexpr int hex = 16;
  uint64_t address = 0;
  if (label.address.empty()) return 0;
  const std::string_view digits = label.address.substr(2);
  std::from_chars(digits.data(), digits.data() + digits.size(), address, hex);
  return address;
}

FrameId inlined(Profile& profile, FrameId id) {
  Frame frame = profile.frames[id];
  if (frame.kind == FrameKind::user) frame.kind = FrameKind::inlined;
  return profile.frames.intern(frame);
}

}  // namespace

ValgrindLabel parse_valgrind_label(std::string_view text) {
  ValgrindLabel label;
  label.function = text;
  const size_t colon = text.find(": ");
  if (text.starts_with("0x") && colon != std::string_view::npos &&
      first_not_in(text.substr(2, colon - 2), hex_bytes) == colon - 2) {
    label.address = text.substr(0, colon);
    label.function = text.substr(colon + 2);
  }
  take_place(label);
  if (label.function == "???") label.function = {};
  return label;
}

ValgrindFrame valgrind_frame(Profile& profile, std::string_view text, const ReadOptions& options) {
  return valgrind_frame(profile, parse_valgrind_label(text), options);
}

ValgrindFrame valgrind_frame(Profile& profile, const ValgrindLabel& label,
                             const ReadOptions& options) {
  Frame frame{.function = {},
              .module = profile.strings.intern(label.module),
              .file = profile.strings.intern(options.lines ? label.file : ""),
              .line = options.lines ? label.line : 0,
              .kind = label.function.empty() ? FrameKind::unknown : FrameKind::user};
  if (!label.function.empty())
    frame.function = profile.strings.intern(label.function);
  else if (options.addresses && !label.address.empty())
    frame.function = profile.strings.intern(label.address);
  else
    frame.function = profile.strings.intern(in_module(label.module));
  return {profile.frames.intern(frame), address_of(label)};
}

StackId push_frames(Profile& profile, std::span<const ValgrindFrame> frames, StackId root) {
  StackId stack = root;
  ValgrindFrame outer;
  for (const ValgrindFrame& at : frames) {
    if (at.address == 0 || at.address != outer.address) outer = at;
    FrameId frame = at.frame;
    if (frame != outer.frame) frame = inlined(profile, frame);
    stack = profile.stacks.push(stack, frame);
  }
  return stack;
}

}  // namespace memflame
