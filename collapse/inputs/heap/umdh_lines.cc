// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/umdh_lines.h"

#include <charconv>

#include "collapse/inputs/scan.h"
#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

constexpr std::string_view trace_mark = "BackTrace";

// Hexadecimal, with or without "0x".
bool take_hex(Scan& scan, int64_t& value) {
  scan.literal("0x");
  const std::string_view digits = scan.rest.substr(0, first_not_in(scan.rest, hex_bytes));
  uint64_t found = 0;
  if (digits.empty()) return false;
  constexpr int hex = 16;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), found, hex);
  if (error != std::errc{} || found > INT64_MAX)
    throw Error("a number leaves the range of 64 bits");
  scan.rest.remove_prefix(digits.size());
  value = static_cast<int64_t>(found);
  return true;
}

bool take_number(Scan& scan, UmdhNumber& number) {
  const std::string_view digits = scan.rest.substr(0, first_not_in(scan.rest, hex_bytes));
  if (!take_hex(scan, number.hex)) return false;
  int64_t decimal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), decimal);
  number.decimal = error == std::errc{} && end == digits.data() + digits.size()
                       ? std::optional(decimal)
                       : std::nullopt;
  return true;
}

// "BackTraceEDD4EEA6", with blanks around it.
bool take_trace(Scan& scan, std::string_view& trace) {
  scan.blanks();
  if (!scan.rest.starts_with(trace_mark)) return false;
  const size_t end = first_in(scan.rest, blank_bytes);
  trace = scan.rest.substr(0, end);
  scan.rest.remove_prefix(end);
  scan.blanks();
  return true;
}

// Where "+2C" or "+0x0000002C" begins; the text's length if there is none.
size_t find_offset(std::string_view name) {
  const size_t plus = name.rfind('+');
  if (plus == std::string_view::npos || plus == 0) return name.size();
  std::string_view digits = name.substr(plus + 1);
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  return all_in(digits, hex_bytes) ? plus : name.size();
}

// The '!' behind a module, not that of "operator!=".
size_t find_module_end(std::string_view text) {
  const size_t at = text.find('!');
  if (at == std::string_view::npos || at == 0) return std::string_view::npos;
  const std::string_view module = text.substr(0, at);
  const bool is_name = module.find_first_of(":(<") == module.npos && !module.ends_with("operator");
  return is_name || module.starts_with("<no module>") ? at : std::string_view::npos;
}

}  // namespace

std::optional<UmdhBlocks> umdh_blocks(std::string_view line) {
  // Lines of other formats may begin with a number beyond 64 bits.
  if (line.find(trace_mark) == std::string_view::npos) return std::nullopt;
  Scan scan{trimmed(line)};
  UmdhBlocks blocks;
  if (!take_hex(scan, blocks.bytes) || !scan.literal(" bytes ")) return std::nullopt;
  int64_t address = 0, each = 0;
  if (scan.literal("+ ")) {
    if (!take_hex(scan, blocks.overhead) || !scan.literal(" at ") || !take_hex(scan, address) ||
        !scan.literal(" by "))
      return std::nullopt;
  } else {
    if (scan.literal("in ")) {
      if (!take_hex(scan, blocks.count) || !scan.literal(" allocations (@ ") ||
          !take_hex(scan, each))
        return std::nullopt;
      // "(@ 0x428 + 0x8)": not all have the same size.
      if (scan.literal(" + ") && !take_hex(scan, each)) return std::nullopt;
      if (!scan.literal(") ")) return std::nullopt;
    }
    if (!scan.literal("by: ")) return std::nullopt;
  }
  return take_trace(scan, blocks.trace) && scan.rest.empty() ? std::optional(blocks) : std::nullopt;
}

std::optional<UmdhChange> umdh_change(std::string_view line) {
  if (line.find(trace_mark) == std::string_view::npos) return std::nullopt;
  Scan scan{line};
  UmdhChange change;
  change.negative = scan.literal("-");
  if (!change.negative && !scan.literal("+")) return std::nullopt;
  scan.blanks();
  if (scan.literal("-")) change.negative = !change.negative;
  const bool known = take_number(scan, change.delta) && scan.blanks() && scan.literal("(") &&
                     scan.blanks() && take_number(scan, change.after) && scan.blanks() &&
                     scan.literal("-") && scan.blanks() && take_number(scan, change.before) &&
                     scan.blanks() && scan.literal(")") && scan.blanks();
  if (!known) return std::nullopt;
  if (take_trace(scan, change.trace)) {
    change.of_blocks = true;
    return scan.literal("allocations") ? std::optional(change) : std::nullopt;
  }
  UmdhNumber count;
  if (!take_number(scan, count) || !scan.blanks() || !scan.literal("allocs")) return std::nullopt;
  change.count = count;
  return take_trace(scan, change.trace) ? std::optional(change) : std::nullopt;
}

std::optional<UmdhTotal> umdh_total(std::string_view line) {
  Scan scan{trimmed(line)};
  UmdhTotal total;
  if (!scan.literal("Total ")) return std::nullopt;
  total.negative = scan.literal("decrease");
  if (!total.negative && !scan.literal("increase")) return std::nullopt;
  if (!scan.literal(" ==") || !scan.blanks()) return std::nullopt;
  if (scan.literal("-")) total.negative = !total.negative;
  return take_number(scan, total.requested) ? std::optional(total) : std::nullopt;
}

std::optional<UmdhModule> umdh_module(std::string_view line) {
  Scan scan{line};
  UmdhModule module;
  if (!scan.literal("//") || !scan.blanks() || !scan.hex(module.base) || !scan.blanks() ||
      !scan.hex(module.size) || !scan.literal(" "))
    return std::nullopt;
  module.path = trimmed(scan.rest);
  return module.path.empty() ? std::nullopt : std::optional(module);
}

UmdhFrame umdh_frame(std::string_view text) {
  UmdhFrame found;
  text = trimmed(text);
  std::string_view rest = text;
  if (const auto place = take_bracketed(rest, '(', ')')) {
    const size_t comma = place->rfind(", ");
    uint32_t line = 0;
    Scan scan{comma == std::string_view::npos ? "" : place->substr(comma + 2)};
    if (scan.small_number(line) && scan.rest.empty()) {
      found.frame.file = place->substr(0, comma);
      found.frame.line = line;
      text = rest;
    }
  }
  if (is_hex(text) || text.starts_with("0x")) {
    found.address = hex_address(text);
    if (found.address) return found;
  }
  if (const size_t at = find_module_end(text); at != std::string_view::npos) {
    found.frame.module = text.starts_with('<') ? std::string_view{} : text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  const size_t plus = find_offset(text);
  found.offset = text.substr(std::min(plus + 1, text.size()));
  found.frame.function = text.substr(0, plus);
  if (found.frame.function == "???") found.frame.function = {};
  return found;
}

std::string_view windows_file_name(std::string_view path) {
  return path.substr(path.find_last_of("\\/") + 1);
}

}  // namespace memflame
