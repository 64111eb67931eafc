// SPDX-License-Identifier: BSD-2-Clause
// What the events of `perf script` count, and the weight of one sample.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collapse/inputs/perf/perf_script_lines.h"
#include "core/profile.h"

namespace memflame {

struct PerfWeight {
  enum class From : uint8_t {
    period,  // 1 if none is printed
    field,   // a field of the event
    order,   // 2 to the power of a field
  };
  From from = From::period;
  Unit unit = Unit::count;
  std::string field{};
};

// "page-faults:u" without its modifiers. Names of tracepoints stay whole.
std::string_view perf_event_name(std::string_view event);

// The usual weight of an event; if `field` (of --weight) is not empty, that field instead.
PerfWeight perf_weight(std::string_view event, std::string_view field);

// The weight of a sample; nothing if it lacks the field, or has no number there. Throws Error if it
// does not fit in 64 bits.
std::optional<int64_t> weigh(const PerfWeight& weight, const PerfHeader& header);

// Whether the event is one of `names` (of --event), with or without its modifiers. Without names
// every event is wanted.
bool is_wanted(std::string_view event, std::span<const std::string> names);

}  // namespace memflame
