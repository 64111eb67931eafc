// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/stack_rows.h"

#include <algorithm>
#include <span>

namespace memflame::inside {
namespace {

unwind::FoundRow row_in(const CodeRange& range, std::span<const unwind::row> rows,
                        uint64_t address) {
  if (range.rows == rows_missing) return {.stop = bpf::stop_no_table, .rule = {}};
  if (range.rows == by_frame_pointer)
    return {.stop = bpf::stop_end, .rule = {.pc = 0, .cfa = 0, .kind = unwind::row_fp, .rbp = 0}};
  const std::span<const unwind::row> own = rows.subspan(range.first_row, range.rows);
  const auto after =
      std::upper_bound(own.begin(), own.end(), address - range.base,
                       [](uint64_t offset, const unwind::row& row) { return offset < row.pc; });
  if (after == own.begin()) return {.stop = bpf::stop_no_table, .rule = {}};
  return {.stop = bpf::stop_end, .rule = *std::prev(after)};
}

}  // namespace

unwind::FindRow published_rows(Exchange& exchange, uint32_t process) {
  return [&exchange, process](uint64_t address) -> unwind::FoundRow {
    const uint64_t code = taken_once(exchange.process(process).code);
    const std::span<CodeRange> list = exchange.code().subspan(code & UINT32_MAX, code >> 32);
    const auto after = std::upper_bound(
        list.begin(), list.end(), address,
        [](uint64_t wanted, const CodeRange& range) { return wanted < range.start; });
    if (after == list.begin() || address >= std::prev(after)->end)
      return {.stop = bpf::stop_no_mapping, .rule = {}};
    return row_in(*std::prev(after), exchange.rows(), address);
  };
}

}  // namespace memflame::inside
