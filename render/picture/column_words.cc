// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/column_words.h"

#include <algorithm>
#include <array>

namespace memflame {
namespace {

struct Words {
  std::string_view name, words;
};

// In order of the names. Names that are words of their own (live, peak, allocations) are not here,
// nor `total`, which is all that was allocated in one input and all that was mapped in another.
constexpr std::array table{
    Words{"active", "in use"},
    Words{"active_objects", "objects in use"},
    Words{"alloc_objects", "allocated objects"},
    Words{"alloc_percent", "percent of allocations"},
    Words{"alloc_space", "allocated"},
    Words{"definitely", "definitely lost"},
    Words{"definitely_blocks", "blocks definitely lost"},
    Words{"direct", "leaked directly"},
    Words{"direct_objects", "objects leaked directly"},
    Words{"end", "at the end"},
    Words{"end_blocks", "blocks at the end"},
    Words{"first-touch", "live, by first touch"},
    Words{"in-whole-pages", "in whole pages"},
    Words{"indirect", "leaked indirectly"},
    Words{"indirect_objects", "objects leaked indirectly"},
    Words{"indirectly", "indirectly lost"},
    Words{"indirectly_blocks", "blocks indirectly lost"},
    Words{"inuse_objects", "objects in use"},
    Words{"inuse_space", "in use"},
    Words{"leaked_all", "leaked with suppressed ones"},
    Words{"leaked_all_blocks", "leaked blocks with suppressed ones"},
    Words{"leaked_blocks", "leaked blocks"},
    Words{"leaked_unsuppressed", "leaked without suppressed ones"},
    Words{"leaked_unsuppressed_blocks", "leaked blocks without suppressed ones"},
    Words{"live-count", "live blocks"},
    Words{"major", "major faults"},
    Words{"max", "each stack's own maximum"},
    Words{"max_blocks", "blocks at each stack's own maximum"},
    Words{"minor", "minor faults"},
    Words{"peak_blocks", "blocks at the peak"},
    Words{"possibly", "possibly lost"},
    Words{"possibly_blocks", "blocks possibly lost"},
    Words{"reachable", "still reachable"},
    Words{"reachable_blocks", "blocks still reachable"},
    Words{"temporary", "temporary allocations"},
    Words{"time_percent", "percent of time"},
    Words{"total-count", "allocations"},
    Words{"total_blocks", "allocations"},
    Words{"touched-by", "live, by who touched it first"},
};

constexpr bool by_name(const Words& a, const Words& b) { return a.name < b.name; }
static_assert(std::is_sorted(table.begin(), table.end(), by_name));

}  // namespace

std::string_view column_words(std::string_view name) {
  const auto found = std::lower_bound(table.begin(), table.end(), Words{name, {}}, by_name);
  return found != table.end() && found->name == name ? found->words : name;
}

}  // namespace memflame
