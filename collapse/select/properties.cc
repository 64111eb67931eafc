// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/properties.h"

#include <algorithm>
#include <array>

namespace memflame {
namespace {

// In the order of the enum.
constexpr std::array all_properties{
    PropertyInfo{"allocated", Property::allocated, ValueKind::time},
    PropertyInfo{"freed", Property::freed, ValueKind::time},
    PropertyInfo{"lifetime", Property::lifetime, ValueKind::time},
    PropertyInfo{"size", Property::size, ValueKind::bytes},
    PropertyInfo{"first.size", Property::first_size, ValueKind::bytes},
    PropertyInfo{"last.size", Property::last_size, ValueKind::bytes},
    PropertyInfo{"address", Property::address, ValueKind::address},
    PropertyInfo{"leaked", Property::leaked, ValueKind::flag},
    PropertyInfo{"chain.length", Property::chain_length, ValueKind::count},
    PropertyInfo{"chain.position", Property::chain_position, ValueKind::count},
    PropertyInfo{"chain.lifetime", Property::chain_lifetime, ValueKind::time},
    PropertyInfo{"chain.leaked", Property::chain_leaked, ValueKind::flag},
    PropertyInfo{"group.count", Property::group_count, ValueKind::count},
    PropertyInfo{"group.leaked", Property::group_leaked, ValueKind::count},
    PropertyInfo{"group.leaked_share", Property::group_leaked_share, ValueKind::share},
    PropertyInfo{"group.span", Property::group_span, ValueKind::time},
    PropertyInfo{"group.peak_time", Property::group_peak_time, ValueKind::time},
    PropertyInfo{"thread", Property::thread, ValueKind::owner},
    PropertyInfo{"process", Property::process, ValueKind::owner},
    PropertyInfo{"function", Property::function, ValueKind::text},
    PropertyInfo{"source", Property::source, ValueKind::text},
    PropertyInfo{"module", Property::module, ValueKind::text},
    PropertyInfo{"depth", Property::depth, ValueKind::count},
    PropertyInfo{"free.function", Property::free_function, ValueKind::text},
    PropertyInfo{"free.source", Property::free_source, ValueKind::text},
    PropertyInfo{"free.module", Property::free_module, ValueKind::text},
    PropertyInfo{"free.depth", Property::free_depth, ValueKind::count},
};

}  // namespace

const PropertyInfo& info_of(Property property) {
  return all_properties[static_cast<size_t>(property)];
}

std::optional<Property> property_named(std::string_view name) {
  for (const PropertyInfo& info : all_properties)
    if (info.name == name) return info.property;
  return std::nullopt;
}

std::vector<std::string_view> property_names() {
  std::vector<std::string_view> names{"live", "stack", "free.stack"};
  for (const PropertyInfo& info : all_properties) names.push_back(info.name);
  return names;
}

}  // namespace memflame
