// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_script_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace memflame {
namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
// Objects instead of functions, so that all_of() is instantiated for each and can inline it.
constexpr auto digits = [](char c) { return c >= '0' && c <= '9'; };
constexpr auto hex_digits = [](char c) { return digits(c) || (c >= 'a' && c <= 'f'); };

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

template <class Is>
bool all_of(std::string_view text, Is is) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is);
}

// The first word of a text, removed with the blanks after it. (The search functions of string_view
// call memchr for each byte.)
std::string_view take_word(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && !is_blank(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  while (end < text.size() && is_blank(text[end])) ++end;
  text.remove_prefix(end);
  return word;
}

std::string_view peek_word(std::string_view text) { return take_word(text); }

// "[000]"
bool is_processor(std::string_view word) {
  return word.size() > 2 && word.front() == '[' && word.back() == ']' &&
         all_of(word.substr(1, word.size() - 2), digits);
}

// "441995.133575:"
bool is_time(std::string_view word) {
  const size_t dot = word.find('.');
  return dot != std::string_view::npos && word.back() == ':' &&
         all_of(word.substr(0, dot), digits) &&
         all_of(word.substr(dot + 1, word.size() - dot - 2), digits);
}

// "12", "12/34", "-1/-1"
bool parse_ids(std::string_view word, PerfHeader& header) {
  const auto is_id = [](std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return all_of(text, digits);
  };
  const size_t slash = word.find('/');
  header.pid = slash == std::string_view::npos ? "" : word.substr(0, slash);
  header.tid = slash == std::string_view::npos ? word : word.substr(slash + 1);
  return is_id(header.tid) && (slash == std::string_view::npos || is_id(header.pid));
}

// The part after the ids.
bool parse_tail(std::string_view tail, PerfHeader& header) {
  header.placed = false;
  std::string_view behind = tail;  // behind the word
  std::string_view word = take_word(behind);
  const auto next = [&] {
    tail = behind;
    word = take_word(behind);
  };
  if (is_processor(word)) {
    next();
    header.placed = true;
  }
  if (is_time(word)) {
    next();
    header.placed = true;
  }
  header.period = {};
  if (!behind.empty() && all_of(word, digits)) {
    header.period = word;
    next();
  }
  if (word.size() > 1 && word.back() == ':') {
    header.event = word.substr(0, word.size() - 1);
    header.rest = behind;
    return true;
  }
  header.event = {};
  header.rest = tail;
  return header.placed && (tail.empty() || parse_perf_single_frame(tail));
}

// The position of the bracket that the last byte of the text closes, or npos.
size_t opening_of_last(std::string_view text) {
  size_t depth = 0;
  for (size_t at = text.size(); at-- > 0;) {
    if (text[at] == ')') ++depth;
    if (text[at] == '(' && --depth == 0) return at;
  }
  const size_t blank = text.rfind(" (");  // file names may hold anything
  return blank == std::string_view::npos ? blank : blank + 1;
}

constexpr std::string_view deleted = " (deleted)";

// Names in brackets that are not kernel modules.
constexpr std::array<std::string_view, 8> no_kernel{"[unknown",  "[heap", "[stack", "[vdso",
                                                    "[vsyscall", "[anon", "[JIT",   "[uprobes"};

bool is_kernel(std::string_view module) {
  const auto begins = [&](std::string_view name) { return module.starts_with(name); };
  if (begins("[")) return std::none_of(no_kernel.begin(), no_kernel.end(), begins);
  const std::string_view file = perf_module_name(module);
  return file == "vmlinux" || file.starts_with("vmlinux-") || file.ends_with(".ko") ||
         file.find(".ko.") != std::string_view::npos || file.starts_with("bpf_prog_");
}

bool is_jit(std::string_view module) {
  const auto between = [](std::string_view text, std::string_view begin, std::string_view end) {
    return text.size() > begin.size() + end.size() && text.starts_with(begin) &&
           text.ends_with(end);
  };
  const std::string_view file = perf_module_name(module);
  return module.starts_with("[JIT]") || module.starts_with("[JIT ") ||
         between(file, "jitted-", ".so") ||
         (between(file, "perf-", ".map") && all_of(file.substr(5, file.size() - 9), digits));
}

// Splits "main+0x2d" in two; an offset is at the end.
void split_offset(PerfFrame& frame) {
  const size_t plus = frame.symbol.rfind("+0x");
  if (plus == std::string_view::npos || !all_of(frame.symbol.substr(plus + 3), hex_digits)) return;
  frame.offset = frame.symbol.substr(plus);
  frame.symbol = frame.symbol.substr(0, plus);
}

// "::h0123456789abcdef", which rustc appends to each name.
std::string_view without_rust_hash(std::string_view name) {
  constexpr size_t size = 19;
  if (name.size() <= size) return name;
  const std::string_view hash = name.substr(name.size() - size);
  const bool is_hash = hash.starts_with("::h") && all_of(hash.substr(3), hex_digits);
  return is_hash ? name.substr(0, name.size() - size) : name;
}

FrameKind kind_of(std::string_view module, bool named) {
  if (is_kernel(module)) return FrameKind::kernel;
  if (!named) return FrameKind::unknown;
  return is_jit(module) ? FrameKind::jit : FrameKind::user;
}

}  // namespace

std::optional<PerfHeader> parse_perf_header(std::string_view line) {
  PerfHeader header;
  line = trim(line);
  constexpr size_t far = 256;  // no thread's name is that long
  for (std::string_view text = line; !text.empty() && line.size() - text.size() < far;) {
    const std::string_view word = take_word(text);
    if (!parse_ids(word, header) || !parse_tail(text, header)) continue;
    header.comm = trim(line.substr(0, static_cast<size_t>(word.data() - line.data())));
    return header;
  }
  return std::nullopt;
}

std::optional<PerfFrame> parse_perf_frame(std::string_view line) {
  line = trim(line);
  PerfFrame frame;
  frame.address = take_word(line);
  if (frame.address.starts_with("0x")) frame.address.remove_prefix(2);
  if (!all_of(frame.address, hex_digits)) return std::nullopt;
  if (line.ends_with(')')) {
    const size_t open = opening_of_last(line);
    if (open == 0 || (open != std::string_view::npos && line[open - 1] == ' ')) {
      frame.module = line.substr(open + 1, line.size() - open - 2);
      line = trim(line.substr(0, open));
    }
  }
  frame.symbol = line;
  if (frame.module == "inlined") {
    frame.module = {};
    frame.kind = FrameKind::inlined;
  } else {
    if (frame.module.ends_with(deleted)) frame.module.remove_suffix(deleted.size());
    if (frame.symbol == "[unknown]") frame.symbol = {};
    frame.kind = kind_of(frame.module, !frame.symbol.empty());
  }
  split_offset(frame);
  frame.symbol = without_rust_hash(frame.symbol);
  return frame;
}

std::optional<PerfFrame> parse_perf_single_frame(std::string_view rest) {
  if (!rest.ends_with(')')) return std::nullopt;
  std::string_view behind = rest;
  const std::string_view first = take_word(behind);
  constexpr size_t address = 6;  // digits; anything shorter is a function's name
  const std::string_view second = peek_word(behind);
  if (all_of(first, hex_digits) && second.size() >= address && all_of(second, hex_digits))
    rest = behind;
  return parse_perf_frame(rest);
}

std::optional<PerfSource> parse_perf_source(std::string_view line) {
  if (line.size() < 3 || !line.starts_with("  ") || is_blank(line[2])) return std::nullopt;
  line = trim(line);
  if (const size_t more = line.find(" (discriminator "); more != std::string_view::npos)
    line = line.substr(0, more);
  if (line.ends_with(']') && line.find('[') != std::string_view::npos) return PerfSource{};
  const size_t colon = line.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  PerfSource source{.file = line.substr(0, colon)};
  const auto [end, error] =
      std::from_chars(line.data() + colon + 1, line.data() + line.size(), source.line);
  if (error != std::errc{} || end != line.data() + line.size()) return std::nullopt;
  if (source.file == "??") source.file = {};
  return source;
}

std::optional<std::string_view> perf_field(std::string_view fields, std::string_view name) {
  for (size_t at = fields.find(name); at != std::string_view::npos;
       at = fields.find(name, at + 1)) {
    const bool begins =
        at == 0 || is_blank(fields[at - 1]) || fields[at - 1] == ',' || fields[at - 1] == '(';
    std::string_view value = fields.substr(at + name.size());
    if (!begins || !(value.starts_with('=') || value.starts_with(':'))) continue;
    value.remove_prefix(1);
    value = trim(value);
    return value.substr(0, std::min(value.find_first_of(" \t,)"), value.size()));
  }
  return std::nullopt;
}

std::optional<int64_t> perf_number(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
  if (error == std::errc::result_out_of_range) throw std::out_of_range("number");
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view perf_module_name(std::string_view module) {
  if (module.size() > 2 && module.front() == '[' && module.back() == ']')
    return module.substr(1, module.size() - 2);
  return module.substr(module.rfind('/') + 1);
}

}  // namespace memflame
