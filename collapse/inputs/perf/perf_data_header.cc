// SPDX-License-Identifier: BSD-2-Clause
// What perf.data states about itself: events and their names, build ids, the machine.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "collapse/inputs/perf/perf_data_file.h"
#include "core/hex.h"

namespace memflame {
namespace {

enum Feature : uint64_t {  // bits of the header, HEADER_* in perf
  feature_build_id = 2,
  feature_hostname = 3,
  feature_osrelease = 4,
  feature_cmdline = 11,
  feature_event_desc = 12,
};

// A length, then that many bytes; the text ends at the first zero byte.
std::string take_string(PerfBytes& bytes) {
  const auto size = bytes.number<uint32_t>();
  return std::string(PerfBytes(bytes.bytes(size)).text());
}

void take_build_ids(PerfFile& file, std::string_view section) {
  constexpr uint16_t has_size = 1U << 15U;
  PerfBytes bytes(section);
  while (true) {
    bytes.number<uint32_t>();  // type
    const auto misc = bytes.number<uint16_t>();
    const auto size = bytes.number<uint16_t>();
    if (!bytes.good() || size < 8) return;
    PerfBytes row(bytes.bytes(size - 8U));
    row.number<int32_t>();  // pid
    const std::string_view id = row.bytes(24);
    if (!row.good()) return;
    const auto length = static_cast<unsigned char>(id[20]);
    const size_t used = (misc & has_size) != 0 && length <= 20 ? length : 20;
    file.build_ids[std::string(row.text())] = perf_build_id(id.substr(0, used));
  }
}

void take_command(PerfFile& file, std::string_view section) {
  PerfBytes bytes(section);
  const auto count = bytes.number<uint32_t>();
  file.command.clear();
  for (uint32_t i = 0; i < count && bytes.good() && !bytes.rest().empty(); ++i)
    file.command += (i == 0 ? "" : " ") + take_string(bytes);
}

void take_descriptions(PerfFile& file, std::string_view section) {
  PerfBytes bytes(section);
  const auto count = bytes.number<uint32_t>();
  const auto attr_size = bytes.number<uint32_t>();
  for (uint32_t i = 0; i < count && bytes.good(); ++i) {
    bytes.bytes(attr_size);
    const auto ids = bytes.number<uint32_t>();
    const std::string name = take_string(bytes);
    PerfBytes list(bytes.bytes(uint64_t{ids} * 8));
    if (!bytes.good()) return;
    // Without ids the order of the attributes counts.
    if (ids == 0 && i < file.events.size()) file.events[i].name = name;
    for (uint64_t id = 0; list.take(id);)
      if (const auto event = file.event_of_id.find(id); event != file.event_of_id.end())
        file.events[event->second].name = name;
  }
}

struct KnownEvent {
  uint32_t type;
  uint64_t config;
  std::string_view name;
};
constexpr std::array<KnownEvent, 14> known_events{
    {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "cpu-clock"},
     {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "task-clock"},
     {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "page-faults"},
     {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "context-switches"},
     {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, "cpu-migrations"},
     {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, "minor-faults"},
     {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "major-faults"},
     {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, "dummy"},
     {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles"},
     {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "instructions"},
     {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, "cache-references"},
     {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, "cache-misses"},
     {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches"},
     {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "branch-misses"}}};

}  // namespace

std::string perf_build_id(std::string_view bytes) {
  // The kernel pads shorter ids (md5, 16 bytes) and does not always say so.
  if (bytes.size() == 20 && bytes.substr(16) == std::string_view("\0\0\0\0", 4))
    bytes = bytes.substr(0, 16);
  if (bytes.find_first_not_of('\0') == std::string_view::npos) return {};
  return hex(std::as_bytes(std::span(bytes)));
}

void take_perf_feature(PerfFile& file, uint64_t feature, std::string_view bytes) {
  PerfBytes text(bytes);
  switch (feature) {
    case feature_build_id:
      return take_build_ids(file, bytes);
    case feature_hostname:
      file.host = take_string(text);
      return;
    case feature_osrelease:
      file.release = take_string(text);
      return;
    case feature_cmdline:
      return take_command(file, bytes);
    case feature_event_desc:
      return take_descriptions(file, bytes);
    default:
      return;
  }
}

void take_perf_attr(PerfFile& file, std::string_view attr, std::string_view ids) {
  PerfEvent event;
  std::memcpy(&event.attr, attr.data(), std::min(attr.size(), sizeof event.attr));
  const auto index = static_cast<uint32_t>(file.events.size());
  file.events.push_back(event);
  PerfBytes list(ids);
  for (uint64_t id = 0; list.take(id);) file.event_of_id[id] = index;
}

void name_perf_events(PerfFile& file) {
  for (PerfEvent& event : file.events) {
    if (!event.name.empty()) continue;
    const auto* known =
        std::find_if(known_events.begin(), known_events.end(), [&](const KnownEvent& row) {
          return row.type == event.attr.type && row.config == event.attr.config;
        });
    event.name = known != known_events.end() ? std::string(known->name)
                                             : "event " + std::to_string(event.attr.type) + ":" +
                                                   std::to_string(event.attr.config);
  }
}

}  // namespace memflame
