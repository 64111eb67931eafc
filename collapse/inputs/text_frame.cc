// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/text_frame.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "collapse/text/byte_set.h"
#include "core/error.h"

namespace memflame {
namespace {

bool is_dec_or_hex(std::string_view text) {
  return text.starts_with("0x") ? is_hex(text.substr(2)) : all_in(text, digit_bytes);
}

// "12", "0x1c", or with the size of the function: "0xb/0x10".
bool is_offset(std::string_view text) {
  const size_t size = text.find('/');
  return is_dec_or_hex(text.substr(0, size)) &&
         (size == std::string_view::npos || is_dec_or_hex(text.substr(size + 1)));
}

constexpr std::array<std::string_view, 12> entries{"entry_SYSCALL_64_after_hwframe",
                                                   "entry_SYSCALL_64",
                                                   "do_syscall_64",
                                                   "x64_sys_call",
                                                   "exc_page_fault",
                                                   "handle_mm_fault",
                                                   "ret_from_fork",
                                                   "ret_from_fork_asm",
                                                   "el0_svc",
                                                   "el0t_64_sync",
                                                   "start_kernel",
                                                   "cpu_startup_entry"};
constexpr std::array<std::string_view, 6> entry_beginnings{
    "asm_exc_",   "asm_sysvec_",  "asm_common_interrupt",
    "__x64_sys_", "__arm64_sys_", "secondary_startup_64"};

}  // namespace

std::string_view trimmed(std::string_view text) {
  text = text.substr(0, behind_last_not_in(text, blank_bytes));
  return text.substr(first_not_in(text, blank_bytes));
}

std::string_view take_until(std::string_view& text, std::string_view separator) {
  const size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + separator.size());
  return taken;
}

std::string_view without_offset(std::string_view name) {
  const size_t plus = name.rfind('+');
  if (plus == std::string_view::npos || plus == 0 || !is_offset(name.substr(plus + 1))) return name;
  return name.substr(0, plus);
}

std::optional<uint32_t> take_line_number(std::string_view& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  uint32_t line = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), line);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size())
    return std::nullopt;
  text = text.substr(0, colon);
  return line;
}

std::optional<std::string_view> take_bracketed(std::string_view& text, char open, char close) {
  const size_t at = text.rfind(open);
  if (at == std::string_view::npos || !text.ends_with(close)) return std::nullopt;
  const std::string_view inner = text.substr(at + 1, text.size() - at - 2);
  text = text.substr(0, behind_last_not_in(text.substr(0, at), blank_bytes));
  return inner;
}

bool is_hex(std::string_view digits) { return all_in(digits, hex_bytes); }

std::optional<uint64_t> hex_address(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  uint64_t address = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, address, 16);
  if (text.empty() || error != std::errc{} || end != last) return std::nullopt;
  return address;
}

std::optional<int64_t> integer(std::string_view text) {
  int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (end != last || error == std::errc::invalid_argument || text.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    throw Error("the number " + std::string(text.substr(0, 40)) + " leaves the range of 64 bits");
  return value;
}

bool is_kernel_entry(std::string_view function) {
  return std::find(entries.begin(), entries.end(), function) != entries.end() ||
         std::any_of(entry_beginnings.begin(), entry_beginnings.end(),
                     [&](std::string_view begin) { return function.starts_with(begin); });
}

FrameId intern(Profile& profile, const TextFrame& frame, const ReadOptions& options) {
  Frame made;
  made.function = profile.strings.intern(frame.function);
  made.module = profile.strings.intern(frame.module);
  made.kind = frame.kind;
  if (options.lines) {
    made.file = profile.strings.intern(frame.file);
    made.line = frame.line;
  }
  return profile.frames.intern(made);
}

FrameId with_kind(Profile& profile, FrameId id, FrameKind kind) {
  Frame frame = profile.frames[id];
  if (frame.kind == kind) return id;
  frame.kind = kind;
  return profile.frames.intern(frame);
}

StackId push_process(Profile& profile, std::string_view name, std::string_view pid,
                     std::string_view tid, const ReadOptions& options) {
  std::string text(options.comm ? name : "");
  const auto append = [&](std::string_view separator, std::string_view id) {
    if (id.empty()) return;
    if (!text.empty()) text += separator;
    text += id;
  };
  const bool with_tid = options.tid && !tid.empty();
  if (options.pid || with_tid) append("-", pid);
  if (with_tid) append(pid.empty() ? "-" : "/", tid);
  return text.empty() ? StackId{} : profile.push({}, text, FrameKind::process);
}

StackId push_leaf_first(Profile& profile, StackId root, std::span<const FrameId> frames) {
  for (size_t i = frames.size(); i-- > 0;) root = profile.stacks.push(root, frames[i]);
  return root;
}

}  // namespace memflame
