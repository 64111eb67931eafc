// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/block_sums.h"

#include <algorithm>

#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

[[noreturn]] void fail_to_fit() { throw Error("a sum of blocks does not fit in 64 bits"); }

int64_t as_figure(double variance) {
  constexpr double most = 9e18;
  return static_cast<int64_t>(std::min(variance, most));
}

std::string count_in_words(uint64_t blocks) {
  return with_commas(static_cast<int64_t>(std::min<uint64_t>(blocks, INT64_MAX)));
}

}  // namespace

void BlockSums::add(const Block& block, int times, bool is_sampled) {
  if (times == 0) return;
  const uint64_t bytes_stood_for = bytes_of(block);
  if (bytes_stood_for > INT64_MAX ||
      __builtin_add_overflow(bytes, times * static_cast<int64_t>(bytes_stood_for), &bytes) ||
      __builtin_add_overflow(blocks, times * static_cast<int64_t>(block.count), &blocks))
    fail_to_fit();
  if (!is_sampled) return;
  // A block that is taken with probability p stands for 1/p blocks of its size: the estimate's
  // variance is w * (w - size), where w = size / p.
  const auto weight = static_cast<double>(bytes_stood_for);
  const double count = block.count;
  bytes_variance += weight * std::max(0.0, weight - static_cast<double>(block.size));
  blocks_variance += count * (count - 1);
}

void BlockSums::add(const BlockSums& other) {
  if (__builtin_add_overflow(bytes, other.bytes, &bytes) ||
      __builtin_add_overflow(blocks, other.blocks, &blocks))
    fail_to_fit();
  bytes_variance += other.bytes_variance;
  blocks_variance += other.blocks_variance;
}

int64_t BlockSums::bytes_variance_figure() const {
  return as_figure(bytes_variance / bytes_variance_unit);
}

int64_t BlockSums::blocks_variance_figure() const { return as_figure(blocks_variance); }

void add_variances(std::vector<ValueType>& types) {
  const size_t columns = types.size();
  for (size_t i = 0; i < columns; ++i) {
    types[i].variance = columns + i;
    types[i].variance_unit = types[i].unit == Unit::bytes ? bytes_variance_unit : 1;
    types.push_back({types[i].name + " variance", Unit::variance});
  }
}

std::string words_of(const Query& query) {
  std::string said;
  const auto add = [&](const std::string& text) { said += (said.empty() ? "" : " ") + text; };
  if (query.empty()) return said;
  for (const Expression& where : query.where)
    add(where.label + (where.text.empty() ? "" : " " + where.text));
  for (const NamedSelection& named : query.named)
    add(named.expression.label + "=" + named.expression.text);
  for (char& c : said)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return said;
}

std::vector<std::string> notes_of(const Query& query, const BlockTally& tally) {
  std::vector<std::string> notes;
  if (!query.empty())
    notes.push_back("selected by " + words_of(query) + ": " + count_in_words(tally.blocks) +
                    " of " + count_in_words(tally.all_blocks) + " blocks");
  if (tally.uncertain != 0)
    notes.push_back(count_in_words(tally.uncertain) +
                    " of the blocks began or ended in a gap of the recording: one of their times "
                    "is not known exactly");
  return notes;
}

}  // namespace memflame
