// SPDX-License-Identifier: BSD-2-Clause
// What a selection can ask of a block.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace memflame {

enum class Property : uint8_t {
  allocated,
  freed,
  lifetime,
  size,
  first_size,
  last_size,
  address,
  leaked,
  chain_length,
  chain_position,
  chain_lifetime,
  chain_leaked,
  group_count,
  group_leaked,
  group_leaked_share,
  group_span,
  group_peak_time,
  thread,
  process,
  function,
  source,
  module,
  depth,
  free_function,
  free_source,
  free_module,
  free_depth,
};

// What a property is compared with.
enum class ValueKind : uint8_t {
  flag,     // with nothing
  time,     // 12.5s, 98%, start, end, peak, "marker", and sums of these
  bytes,    // 4K
  count,    // 12
  address,  // 0x7f00
  share,    // 50%, 0.5
  owner,    // a number, or text
  text,     // "text"
};

struct PropertyInfo {
  std::string_view name;
  Property property;
  ValueKind kind;
};

const PropertyInfo& info_of(Property property);
// None if nothing has that name.
std::optional<Property> property_named(std::string_view name);
// Names of all properties, and "live", "stack", "free.stack".
std::vector<std::string_view> property_names();

inline bool needs_free_stacks(Property property) { return property >= Property::free_function; }
inline bool needs_names(Property property) {
  switch (property) {
    case Property::function:
    case Property::source:
    case Property::module:
    case Property::free_function:
    case Property::free_source:
    case Property::free_module:
      return true;
    default:
      return false;
  }
}
// Whether it belongs to the blocks of one stack together.
inline bool is_of_group(Property property) {
  return property >= Property::group_count && property <= Property::group_peak_time;
}

}  // namespace memflame
