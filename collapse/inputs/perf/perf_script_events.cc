// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_script_events.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "core/error.h"

namespace memflame {
namespace {

struct Rule {
  std::string_view event;
  PerfWeight::From from;
  Unit unit;
  std::string_view field;
};
using From = PerfWeight::From;

// All other events weigh their period and are counted.
constexpr std::array<Rule, 18> rules{{
    {"page-faults", From::period, Unit::pages, ""},
    {"faults", From::period, Unit::pages, ""},
    {"minor-faults", From::period, Unit::pages, ""},
    {"major-faults", From::period, Unit::pages, ""},
    {"exceptions:page_fault_user", From::period, Unit::pages, ""},
    {"exceptions:page_fault_kernel", From::period, Unit::pages, ""},
    {"cpu-clock", From::period, Unit::nanoseconds, ""},
    {"task-clock", From::period, Unit::nanoseconds, ""},
    {"kmem:kmalloc", From::field, Unit::bytes, "bytes_alloc"},
    {"kmem:kmalloc_node", From::field, Unit::bytes, "bytes_alloc"},
    {"kmem:kmem_cache_alloc", From::field, Unit::bytes, "bytes_alloc"},
    {"kmem:kmem_cache_alloc_node", From::field, Unit::bytes, "bytes_alloc"},
    {"kmem:mm_page_alloc", From::order, Unit::pages, "order"},
    {"kmem:mm_page_alloc_zone_locked", From::order, Unit::pages, "order"},
    {"kmem:mm_page_free", From::order, Unit::pages, "order"},
    {"kmem:mm_page_free_batched", From::period, Unit::pages, ""},
    {"kmem:mm_page_free_direct", From::order, Unit::pages, "order"},
    {"kmem:mm_page_pcpu_drain", From::order, Unit::pages, "order"},
}};

// Fields that hold bytes, by a part of their names.
constexpr std::array<std::string_view, 4> byte_fields{"bytes", "size", "len", "nbytes"};

Unit unit_of_field(std::string_view field) {
  const auto within = [&](std::string_view part) {
    return field.find(part) != std::string_view::npos;
  };
  return std::any_of(byte_fields.begin(), byte_fields.end(), within) ? Unit::bytes : Unit::count;
}

int64_t number_of(std::string_view text, std::string_view what) {
  try {
    if (const std::optional<int64_t> number = perf_number(text)) return *number;
  } catch (const std::out_of_range&) {
  }
  throw Error(std::string(what) +
              " leaves the range of 64 bits: " + std::string(text.substr(0, 40)));
}

}  // namespace

std::string_view perf_event_name(std::string_view event) {
  const size_t colon = event.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return event;
  constexpr std::string_view modifiers = "ukhGHIpPSDeWbR";
  const std::string_view behind = event.substr(colon + 1);
  return behind.find_first_not_of(modifiers) == std::string_view::npos ? event.substr(0, colon)
                                                                       : event;
}

PerfWeight perf_weight(std::string_view event, std::string_view field) {
  const std::string_view name = perf_event_name(event);
  if (field == "order") return {From::order, Unit::pages, std::string(field)};
  if (!field.empty()) return {From::field, unit_of_field(field), std::string(field)};
  const auto* rule =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.event == name; });
  if (rule == rules.end()) return {};
  return {rule->from, rule->unit, std::string(rule->field)};
}

std::optional<int64_t> weigh(const PerfWeight& weight, const PerfHeader& header) {
  const int64_t period = header.period.empty() ? 1 : number_of(header.period, "a period");
  if (weight.from == From::period) return period;
  const std::optional<std::string_view> text = perf_field(header.rest, weight.field);
  if (!text) return std::nullopt;
  std::optional<int64_t> number;
  try {
    number = perf_number(*text);
  } catch (const std::out_of_range&) {
    number_of(*text, "the field " + weight.field);
  }
  if (!number) return std::nullopt;
  constexpr int64_t highest_order = 40;
  if (weight.from == From::order) {
    if (*number < 0 || *number > highest_order) return std::nullopt;
    number = int64_t{1} << *number;
  }
  // A sample stands for as many events as its period says.
  int64_t product = 0;
  if (__builtin_mul_overflow(*number, period, &product))
    throw Error("the field " + weight.field + " times the period leaves the range of 64 bits");
  return product;
}

bool is_wanted(std::string_view event, std::span<const std::string> names) {
  const auto fits = [&](const std::string& name) {
    return event == name || perf_event_name(event) == name;
  };
  return names.empty() || std::any_of(names.begin(), names.end(), fits);
}

}  // namespace memflame
