// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/column_words.h"

#include <algorithm>
#include <array>

namespace memflame {
namespace {

struct ColumnWord {
  std::string_view name, words;
};

// In order of the names. Names that are words of their own (live, peak, allocations) are not here,
// nor `total`, which is all that was allocated in one input and all that was mapped in another.
constexpr std::array column_table{
    ColumnWord{"active", "in use"},
    ColumnWord{"active_objects", "objects in use"},
    ColumnWord{"alloc_objects", "allocated objects"},
    ColumnWord{"alloc_percent", "percent of allocations"},
    ColumnWord{"alloc_space", "allocated"},
    ColumnWord{"definitely", "definitely lost"},
    ColumnWord{"definitely_blocks", "blocks definitely lost"},
    ColumnWord{"direct", "leaked directly"},
    ColumnWord{"direct_objects", "objects leaked directly"},
    ColumnWord{"end", "at the end"},
    ColumnWord{"end_blocks", "blocks at the end"},
    ColumnWord{"first-touch", "live, by first touch"},
    ColumnWord{"in-whole-pages", "in whole pages"},
    ColumnWord{"indirect", "leaked indirectly"},
    ColumnWord{"indirect_objects", "objects leaked indirectly"},
    ColumnWord{"indirectly", "indirectly lost"},
    ColumnWord{"indirectly_blocks", "blocks indirectly lost"},
    ColumnWord{"inuse_objects", "objects in use"},
    ColumnWord{"inuse_space", "in use"},
    ColumnWord{"leaked_all", "leaked with suppressed ones"},
    ColumnWord{"leaked_all_blocks", "leaked blocks with suppressed ones"},
    ColumnWord{"leaked_blocks", "leaked blocks"},
    ColumnWord{"leaked_unsuppressed", "leaked without suppressed ones"},
    ColumnWord{"leaked_unsuppressed_blocks", "leaked blocks without suppressed ones"},
    ColumnWord{"live-count", "live blocks"},
    ColumnWord{"major", "major faults"},
    ColumnWord{"max", "each stack's own maximum"},
    ColumnWord{"max_blocks", "blocks at each stack's own maximum"},
    ColumnWord{"minor", "minor faults"},
    ColumnWord{"peak_blocks", "blocks at the peak"},
    ColumnWord{"possibly", "possibly lost"},
    ColumnWord{"possibly_blocks", "blocks possibly lost"},
    ColumnWord{"reachable", "still reachable"},
    ColumnWord{"reachable_blocks", "blocks still reachable"},
    ColumnWord{"temporary", "temporary allocations"},
    ColumnWord{"time_percent", "percent of time"},
    ColumnWord{"total-count", "allocations"},
    ColumnWord{"total_blocks", "allocations"},
    ColumnWord{"touched-by", "live, by who touched it first"},
};

constexpr bool by_column_name(const ColumnWord& a, const ColumnWord& b) { return a.name < b.name; }
static_assert(std::is_sorted(column_table.begin(), column_table.end(), by_column_name));

}  // namespace

std::string_view column_words(std::string_view name) {
  const auto found = std::lower_bound(column_table.begin(), column_table.end(),
                                      ColumnWord{name, {}}, by_column_name);
  return found != column_table.end() && found->name == name ? found->words : name;
}

}  // namespace memflame
