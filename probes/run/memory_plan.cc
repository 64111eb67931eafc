// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/memory_plan.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <sstream>

#include "core/process_memory.h"
#include "core/units.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr uint64_t mib = 1 << 20;

// What does not depend on the plan: small tables, buffers, and memflame with no stack known yet
// (2 to 12 MiB; unwind tables are made there before they move).
constexpr uint64_t fixed_bytes = 17 * mib;
// With the usual sizes: 140 MiB of tables (measured), and 70 MiB for stacks and names.
constexpr uint64_t usual_bytes = 210 * mib;

constexpr uint64_t block_bytes = 176;  // an element with the kernel's own fields, and its bucket
constexpr uint64_t stack_bytes = 656;  // 136 in the kernel, 40 frames here

// The number behind a word in the text of a kernel file; UINT64_MAX if there is none.
uint64_t number_behind(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  uint64_t number = UINT64_MAX;
  if (at == std::string_view::npos) return number;
  const size_t digits = text.find_first_of("0123456789", at + word.size());
  if (digits != std::string_view::npos)
    std::from_chars(text.data() + digits, text.data() + text.size(), number);
  return number;
}

uint64_t number_in(const std::string& file) { return number_behind(read_file(file), ""); }

// Bytes that a control group may still take; UINT64_MAX without a limit. Inactive cached files
// count as free, because the kernel drops them when it needs the room.
uint64_t free_in_group(const std::string& folder, const char* limit, const char* usage) {
  const std::string text = read_file(folder + limit);
  if (text.empty() || text.starts_with("max")) return UINT64_MAX;
  const uint64_t most = number_behind(text, "");
  const uint64_t used = number_in(folder + usage);
  if (most == UINT64_MAX || used == UINT64_MAX) return UINT64_MAX;
  const uint64_t cached = number_behind(read_file(folder + "/memory.stat"), "\ninactive_file ");
  const uint64_t kept = cached == UINT64_MAX ? used : used - std::min(used, cached);
  return most - std::min(most, kept);
}

// The least of a group and all groups above it.
uint64_t free_in_groups(const std::string& root, std::string path, const char* limit,
                        const char* usage) {
  uint64_t least = UINT64_MAX;
  for (;;) {
    least = std::min(least, free_in_group(root + path, limit, usage));
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

uint32_t as_count(uint64_t number) {
  return static_cast<uint32_t>(std::min<uint64_t>(number, UINT32_MAX));
}

}  // namespace

uint64_t available_in(std::string_view meminfo) {
  const uint64_t kib = number_behind(meminfo, "MemAvailable:");
  return kib == UINT64_MAX ? kib : kib * 1024;
}

uint64_t free_memory() {
  uint64_t least = available_in(read_file("/proc/meminfo"));
  std::istringstream groups(read_file("/proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {
    const size_t path = line.find(":/");
    if (path == std::string::npos) continue;
    if (line.starts_with("0::"))
      least = std::min(least, free_in_groups("/sys/fs/cgroup", line.substr(path + 1), "/memory.max",
                                             "/memory.current"));
    else if (line.find(":memory:") != std::string::npos)
      least = std::min(least, free_in_groups("/sys/fs/cgroup/memory", line.substr(path + 1),
                                             "/memory.limit_in_bytes", "/memory.usage_in_bytes"));
  }
  return least;
}

uint64_t own_memory() { return private_bytes_of(::getpid()); }

MemoryPlan plan_memory(uint64_t wanted, uint64_t free) {
  MemoryPlan plan;
  plan.free = free;
  plan.limit = wanted;
  if (wanted == 0) {
    if (free / 8 >= usual_bytes) return plan;
    plan.limit = std::max(free / 8, least_memory);
    plan.is_chosen = true;
  }
  const uint64_t room = std::max(plan.limit, least_memory) - fixed_bytes;
  // The ring's size counts twice: records read from it are kept until the log of mappings was read
  // too.
  plan.ring_bytes = as_count(std::bit_floor(std::clamp<uint64_t>(room / 6, 256 << 10, 16 * mib)));
  // Programs that start have their stacks copied: many small copies keep more of them whole than
  // few large ones.
  plan.copy_kib = as_count(std::clamp<uint64_t>(plan.ring_bytes / 128 / 1024, 8, 64));
  plan.max_stacks = as_count(room / 5 / stack_bytes);
  plan.max_live = as_count(std::bit_floor(room / 5 / block_bytes));
  plan.max_spaces = as_count(std::clamp<uint64_t>(std::bit_floor(room / 512), 16384, 262144));
  plan.table_mib = as_count(std::max<uint64_t>(room / 4 / mib, 1));
  return plan;
}

ProbeOptions within(const MemoryPlan& plan, ProbeOptions options) {
  if (plan.limit == 0) return options;
  options.ring_bytes = std::min(options.ring_bytes, plan.ring_bytes);
  options.copy_kib = std::min(options.copy_kib, plan.copy_kib);
  options.max_stacks = std::min(options.max_stacks, plan.max_stacks);
  options.max_spaces = std::min(options.max_spaces, plan.max_spaces);
  options.max_table_mib = std::min(options.max_table_mib, plan.table_mib);
  // A table of pages, with as many entries, shares the room.
  const uint32_t max_live = options.first_touch ? plan.max_live / 2 : plan.max_live;
  // 0: a default by the size of the machine's memory, but the plan knows how much is free.
  options.max_live = options.max_live == 0 ? max_live : std::min(options.max_live, max_live);
  options.max_live = std::min<uint32_t>(options.max_live, 4U << 20);
  return options;
}

std::string memory_note(const MemoryPlan& plan, const Losses& losses) {
  if (plan.limit == 0) return "";
  const std::string limit = iec_bytes(static_cast<int64_t>(plan.limit));
  std::string text = plan.is_chosen
                         ? "tables for " + limit + ", an eighth of the memory that was free"
                         : "tables for --memory " + limit;
  uint64_t lost = 0;
  for (const Loss loss : {Loss::live_table_full, Loss::stack_table_full, Loss::ring_full,
                          Loss::process_table_full, Loss::unwind_table_full, Loss::page_table_full})
    lost += losses[loss].events;
  if (lost != 0)
    text += "; what found them full is counted as lost (" +
            with_commas(static_cast<int64_t>(lost)) + "): a larger --memory loses less";
  return text;
}

}  // namespace memflame
