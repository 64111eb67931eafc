// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_script_net.h"

#include <charconv>

#include "collapse/inputs/perf/perf_script_events.h"

namespace memflame {
namespace {

// "0xffff8881", "ffff8881", "(null)". Without 0x the number is in the base given; 0 if there is no
// number.
uint64_t address_of(std::string_view text, int base) {
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  uint64_t address = 0;
  std::from_chars(text.data(), text.data() + text.size(), address, base);
  return address;
}

// Kernel addresses are the same for all processes, a process's own are not.
uint64_t space_of(const PerfHeader& header) {
  if (header.event.starts_with("kmem:")) return 0;
  return header.pid.empty() ? 1 : hash_bytes(header.pid) | 2U;
}

}  // namespace

std::optional<PerfBlockEvent> perf_block_event(const PerfHeader& header) {
  PerfBlockEvent event;
  const std::string_view name = perf_event_name(header.event);
  event.is_free = name.find("free") != std::string_view::npos;
  event.is_pages = name.starts_with("kmem:mm_page_");
  std::optional<std::string_view> text;
  if (event.is_pages) {
    event.space = 3;
    text = perf_field(header.rest, "pfn");
    if (text) {
      event.address = address_of(*text, 10);
      return event;
    }
    // These are addresses of page descriptors, which cannot be counted on by numbers of pages.
    event.is_pages = false;
    text = perf_field(header.rest, "page");
  } else {
    event.space = space_of(header);
    text = perf_field(header.rest, "ptr");
  }
  if (!text) return std::nullopt;
  event.address = address_of(*text, 16);
  return event;
}

}  // namespace memflame
