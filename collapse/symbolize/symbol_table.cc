// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/symbol_table.h"

#include <tuple>

namespace memflame {
namespace {

// Compilers align functions to 16 bytes; the bytes between are never called, but a return address
// behind a call that does not return can point there.
constexpr uint64_t alignment = 16;

size_t leading_underscores(std::string_view name) {
  // The prefixes of mangled C++ and Rust names say nothing about who should see the name.
  if (name.starts_with("_Z") || name.starts_with("_R")) return 0;
  return std::min(name.find_first_not_of('_'), name.size());
}

uint64_t saturating_end(const SymbolEntry& entry) {
  uint64_t end = 0;
  return __builtin_add_overflow(entry.start, entry.size, &end) ? UINT64_MAX : end;
}

// Rows of the sized symbols: the one that starts last is the innermost.
std::vector<Span> sized_rows(const std::vector<SymbolEntry>& entries) {
  std::vector<Span> spans;
  for (uint32_t i = 0; i < entries.size(); ++i)
    if (entries[i].size != 0) spans.push_back({entries[i].start, saturating_end(entries[i]), i});
  return flatten(std::move(spans), [&](const Span& a, const Span& b) {
    if (a.start != b.start) return a.start > b.start;
    return better_name(entries[a.owner], entries[b.owner]);
  });
}

// The best name at each start among symbols without a size, in order of address.
std::vector<uint32_t> unsized_starts(const std::vector<SymbolEntry>& entries) {
  std::vector<uint32_t> labels;
  for (uint32_t i = 0; i < entries.size(); ++i)
    if (entries[i].size == 0) labels.push_back(i);
  std::sort(labels.begin(), labels.end(), [&](uint32_t a, uint32_t b) {
    if (entries[a].start != entries[b].start) return entries[a].start < entries[b].start;
    return better_name(entries[a], entries[b]);
  });
  const auto same = [&](uint32_t a, uint32_t b) { return entries[a].start == entries[b].start; };
  labels.erase(std::unique(labels.begin(), labels.end(), same), labels.end());
  return labels;
}

}  // namespace

bool better_name(const SymbolEntry& a, const SymbolEntry& b) {
  const auto key = [](const SymbolEntry& e) {
    return std::tuple(!e.function, leading_underscores(e.name), e.local, e.name.size(), e.name);
  };
  return key(a) < key(b);
}

SymbolTable::SymbolTable(std::vector<SymbolEntry> entries) : entries_(std::move(entries)) {
  const std::vector<Span> sized = sized_rows(entries_);
  const std::vector<uint32_t> labels = unsized_starts(entries_);
  rows_.reserve(sized.size() + labels.size());

  // A label inside a sized function does not split it; in the gaps between sized functions each
  // label reaches to the next symbol of either kind.
  size_t next = 0;
  const auto fill_gap = [&](uint64_t from, uint64_t to) {
    for (; next < labels.size() && entries_[labels[next]].start < to; ++next) {
      const SymbolEntry& label = entries_[labels[next]];
      if (label.start < from) continue;
      uint64_t end = std::min(label.limit, to);
      if (next + 1 < labels.size()) end = std::min(end, entries_[labels[next + 1]].start);
      if (label.start < end) rows_.push_back({label.start, end, labels[next]});
    }
  };
  uint64_t gap = 0;
  for (const Span& row : sized) {
    fill_gap(gap, row.start);
    rows_.push_back(row);
    gap = row.end;
  }
  fill_gap(gap, UINT64_MAX);

  for (size_t i = 0; i < rows_.size(); ++i) {
    const uint64_t room = i + 1 < rows_.size() ? rows_[i + 1].start : UINT64_MAX;
    const uint64_t padded = (rows_[i].end + alignment - 1) & ~(alignment - 1);
    if (padded > rows_[i].end && entries_[rows_[i].owner].size != 0)
      rows_[i].end = std::min(padded, room);
  }
}

const SymbolEntry* SymbolTable::find(uint64_t address) const {
  const Span* row = find_span(rows_, address);
  return row == nullptr ? nullptr : &entries_[row->owner];
}

}  // namespace memflame
