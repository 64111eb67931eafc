// SPDX-License-Identifier: BSD-2-Clause
// memory.stat of a cgroup, of version 2 or 1: a name and a number a line. Some figures are parts of
// others; what is left of those is their own value. With version 1, the figures with all
// descendants (total_…) are taken.
//
//   anon 12316672
//   file 8675328
//   kernel 1024000
#include <array>
#include <map>

#include "collapse/inputs/text_reader.h"
#include "core/units.h"

namespace memflame {
namespace {

struct StatRow {
  std::string_view name;
  std::string_view whole;  // what it is a part of; "" = nothing
};

// A whole is before its parts. What is not here counts events, or pages that others count too.
constexpr std::array<StatRow, 16> rows_v2{{{"anon", ""},
                                           {"anon_thp", "anon"},
                                           {"file", ""},
                                           {"shmem", "file"},
                                           {"shmem_thp", "shmem"},
                                           {"file_thp", "file"},
                                           {"swapcached", "file"},
                                           {"kernel", ""},
                                           {"kernel_stack", "kernel"},
                                           {"pagetables", "kernel"},
                                           {"sec_pagetables", "kernel"},
                                           {"percpu", "kernel"},
                                           {"vmalloc", "kernel"},
                                           {"slab_reclaimable", "kernel"},
                                           {"slab_unreclaimable", "kernel"},
                                           {"sock", ""}}};
constexpr std::array<StatRow, 4> rows_v1{
    {{"cache", ""}, {"shmem", "cache"}, {"rss", ""}, {"rss_huge", "rss"}}};

class MemoryStatReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.meta.title = "memory.stat";
    profile.types = {{"bytes", Unit::bytes}};
    each_line([&](std::string_view line) { take(line); });
    if (!whole) cut_off("its last line may be cut off");
    if (figures_.contains("anon"))
      add(rows_v2, "");
    else
      add(rows_v1, figures_.contains("total_cache") ? "total_" : "");
    return finish("figure like 'anon 4096'");
  }

 private:
  void take(std::string_view line) {
    const std::string_view name = take_until(line, " ");
    const auto number = integer(trimmed(line));
    if (name.empty() || !number || *number < 0) return bad("not a name and a number");
    if (!figures_.try_emplace(std::string(name), *number).second)
      bad("a name that was there before");
  }

  void add(std::span<const StatRow> rows, const std::string& prefix) {
    std::map<std::string_view, int64_t> own;
    std::map<std::string_view, StackId> stacks;
    uint64_t used = 0;
    for (const StatRow& row : rows) {
      const auto found = figures_.find(prefix + std::string(row.name));
      if (found == figures_.end()) continue;
      ++used;
      const auto above = stacks.find(row.whole);
      const StackId caller = above == stacks.end() ? StackId{} : above->second;
      stacks[row.name] = profile.push(caller, row.name, kind_of(row));
      own[row.name] = found->second;
      // Older kernels have no figure for the whole.
      if (caller) own[row.whole] -= found->second;
    }
    for (const auto& [name, value] : own) {
      if (value < 0)
        profile.meta.notes.push_back("the parts of '" + std::string(name) +
                                     "' are larger than it by " + with_commas(-value) +
                                     " B: they are not read at one moment");
      if (value > 0) profile.add(stacks[name], std::array{value});
    }
    profile.meta.notes.push_back(
        with_commas(static_cast<int64_t>(figures_.size() - used)) +
        " figures are left out: they count events, or memory that others count too");
  }

  static FrameKind kind_of(const StatRow& row) {
    const bool user = row.name.starts_with("anon") || row.name.starts_with("rss");
    return user ? FrameKind::user : FrameKind::kernel;
  }

  std::map<std::string, int64_t> figures_;
};

}  // namespace

bool is_memory_stat(std::string_view head) {
  const auto has = [&](std::string_view line) { return head.find(line) != std::string_view::npos; };
  return (head.starts_with("anon ") && has("\nfile ") && has("\ninactive_anon ")) ||
         (head.starts_with("cache ") && has("\nrss ") && has("\ninactive_anon "));
}

Profile read_memory_stat(Source& source, const ReadOptions& options) {
  return MemoryStatReader(source, options).run();
}

}  // namespace memflame
