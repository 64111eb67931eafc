// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/column_words.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace memflame {
namespace {

using ColumnWords = std::pair<std::string_view, std::string_view>;
constexpr std::array column_words_table{
    ColumnWords{"live-count", "live blocks"},
    ColumnWords{"total", "in total"},
    ColumnWords{"total-count", "allocations"},
    ColumnWords{"peak_blocks", "blocks at the peak"},
    ColumnWords{"max", "largest of each stack"},
    ColumnWords{"max_blocks", "most blocks of each stack"},
    ColumnWords{"end", "at the end"},
    ColumnWords{"end_blocks", "blocks at the end"},
    ColumnWords{"total_blocks", "allocations"},
    ColumnWords{"leaked_all", "leaked, with suppressed ones"},
    ColumnWords{"leaked_all_blocks", "leaked blocks, with suppressed ones"},
    ColumnWords{"temporary", "temporary allocations"},
    ColumnWords{"inuse_space", "in use"},
    ColumnWords{"inuse_objects", "objects in use"},
    ColumnWords{"alloc_space", "allocated in total"},
    ColumnWords{"alloc_objects", "allocated objects"},
    ColumnWords{"minor", "minor faults"},
    ColumnWords{"major", "major faults"},
    ColumnWords{"untouched", "never touched"},
    ColumnWords{"in-whole-pages", "never touched, in whole pages"},
    ColumnWords{"slack", "slack in blocks"},
    ColumnWords{"pinning", "kept by few blocks"},
    ColumnWords{"first-touch", "touched first"},
    ColumnWords{"touched-by", "touched by"},
};

}  // namespace

std::string column_words(const ValueType& type) {
  const auto* const known = std::ranges::find(column_words_table, type.name, &ColumnWords::first);
  if (known != column_words_table.end()) return std::string(known->second);
  std::string words = type.name;
  std::ranges::replace(words, '_', ' ');
  return words;
}

}  // namespace memflame
