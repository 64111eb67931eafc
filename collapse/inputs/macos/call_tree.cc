// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/macos/call_tree.h"

#include <algorithm>
#include <array>

#include "collapse/inputs/scan.h"
#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

constexpr ByteSet tree_bytes = byte_set(" \t+!:|");

struct SizeUnit {
  std::string_view word;
  int64_t bytes;
};
constexpr std::array<SizeUnit, 7> size_units{{{" bytes", 1},
                                              {" byte", 1},
                                              {"K", int64_t{1} << 10U},
                                              {"M", int64_t{1} << 20U},
                                              {"G", int64_t{1} << 30U},
                                              {"T", int64_t{1} << 40U},
                                              {"", 1}}};

[[noreturn]] void too_large() { throw Error("a number leaves the range of 64 bits"); }

// "48 bytes", "1.41K", "153K".
std::optional<PrintedSize> printed_size(std::string_view text) {
  Scan scan{text};
  int64_t whole = 0, part = 0, scale = 1;
  if (!scan.number(whole) || whole < 0) return std::nullopt;
  if (scan.literal(".")) {
    const size_t digits = first_not_in(scan.rest, digit_bytes);
    constexpr size_t most = 6;
    if (digits == 0 || digits > most || !scan.number(part)) return std::nullopt;
    for (size_t i = 0; i < digits; ++i) scale *= 10;
  }
  const auto* unit = std::find_if(size_units.begin(), size_units.end(),
                                  [&](const SizeUnit& each) { return each.word == scan.rest; });
  if (unit == size_units.end()) return std::nullopt;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(whole, unit->bytes, &bytes) ||
      __builtin_add_overflow(bytes, (part * unit->bytes + scale / 2) / scale, &bytes))
    too_large();
  return PrintedSize{bytes, (unit->bytes + scale - 1) / scale};
}

int64_t tree_sum(int64_t a, int64_t b) {
  int64_t both = 0;
  if (__builtin_add_overflow(a, b, &both)) too_large();
  return both;
}

}  // namespace

std::optional<TreeLine> parse_tree_line(std::string_view line) {
  TreeLine found;
  found.indent = first_not_in(line, tree_bytes);
  Scan scan{line.substr(found.indent)};
  // A sign is not a digit, though number() takes it.
  if (scan.rest.empty() || !has(digit_bytes, scan.rest.front())) return std::nullopt;
  if (!scan.number(found.count) || !scan.literal(" ")) return std::nullopt;
  scan.blanks();
  if (scan.rest.starts_with('(')) {
    const size_t end = scan.rest.find(')');
    if (end == std::string_view::npos) return std::nullopt;
    found.size = printed_size(scan.rest.substr(1, end - 1));
    if (found.size) scan.rest.remove_prefix(end + 1);
    scan.blanks();
  }
  found.text = scan.rest.substr(0, behind_last_not_in(scan.rest, blank_bytes));
  return found.text.empty() ? std::nullopt : std::optional(found);
}

std::optional<StackId> CallTree::caller(size_t indent) {
  while (!open_.empty() && open_.back().indent >= indent) close();
  return open_.empty() ? std::nullopt : std::optional(open_.back().node.stack);
}

void CallTree::add(size_t indent, const Node& node) { open_.push_back({indent, node}); }

void CallTree::end() {
  while (!open_.empty()) close();
}

// Counts are exact, so a line without blocks of its own has no bytes of its own either: what
// rounding leaves there belongs to nobody.
int64_t CallTree::own_bytes(const Open& open, int64_t count) {
  if (count == 0) return 0;
  const int64_t rest = std::max<int64_t>(open.node.bytes - open.bytes, 0);
  int64_t exact = 0;
  if (open.node.each >= 0 && !__builtin_mul_overflow(open.node.each, count, &exact) &&
      (count == 1 || (exact >= rest - open.node.unit && exact <= tree_sum(rest, open.node.unit))))
    return exact;
  if (open.node.unit != 1) rounded_ = true;
  return rest;
}

void CallTree::close() {
  const Open open = open_.back();
  open_.pop_back();
  const int64_t count = std::max<int64_t>(open.node.count - open.count, 0);
  if (open.node.count < open.count) ++contradictions_;
  const int64_t bytes = own_bytes(open, count);
  if (count != 0 || bytes != 0) own_(open.node.stack, count, bytes);
  if (open_.empty()) return;
  open_.back().count = tree_sum(open_.back().count, tree_sum(open.count, count));
  open_.back().bytes = tree_sum(open_.back().bytes, tree_sum(open.bytes, bytes));
}

}  // namespace memflame
