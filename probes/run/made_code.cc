// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/made_code.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "core/unique_fd.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

// A Python program with 100,000 functions has 2 MiB of such code; what is larger is a JIT's.
constexpr uint64_t largest_mapping = 16 << 20;
// Different forms of the function in one run: each build of CPython has its own.
constexpr size_t most_kinds = 8;

constexpr size_t longest_function = 256;

std::vector<std::byte> read_memory_at(int memory, uint64_t address, size_t size) {
  std::vector<std::byte> bytes(size);
  const ssize_t got = ::pread(memory, bytes.data(), bytes.size(), static_cast<off_t>(address));
  if (got != static_cast<ssize_t>(bytes.size())) bytes.clear();
  return bytes;
}

}  // namespace

void MadeCode::look(SpaceId space, pid_t pid, const Mapping& mapping, unwind::Tables& tables) {
  const uint64_t size = mapping.end - mapping.start;
  if (size % unwind::copies_bytes != 0 || size > largest_mapping) return;
  Blocks& blocks = spaces_[space];
  UniqueFd memory;
  for (uint64_t at = mapping.start; at < mapping.end; at += unwind::copies_bytes) {
    const auto [block, is_new] = blocks.try_emplace(at);
    if (!is_new) continue;
    if (!memory) memory = UniqueFd(::open(proc_path(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC));
    if (!unwind::may_be_copies(read_memory_at(memory.get(), at, longest_function))) continue;
    const auto bytes = read_memory_at(memory.get(), at, unwind::copies_bytes);
    block->second = place_of(unwind::rows_of_copies(bytes), tables);
  }
}

unwind::Tables::Place MadeCode::place_of(std::vector<unwind::row> rows, unwind::Tables& tables) {
  if (rows.empty()) return {};
  const auto is_same = [](const unwind::row& a, const unwind::row& b) {
    return a.pc == b.pc && a.kind == b.kind && a.cfa == b.cfa && a.rbp == b.rbp;
  };
  for (const auto& [known, place] : known_)
    if (std::ranges::equal(known, rows, is_same)) return place;
  if (known_.size() == most_kinds) return {};
  const unwind::Tables::Place place = tables.add(rows);
  known_.emplace_back(std::move(rows), place);
  return place;
}

void MadeCode::forget(SpaceId space) { spaces_.erase(space); }

std::optional<MadeCode::Block> MadeCode::find(SpaceId space, uint64_t address) const {
  const auto blocks = spaces_.find(space);
  if (blocks == spaces_.end()) return std::nullopt;
  const auto after = blocks->second.upper_bound(address);
  if (after == blocks->second.begin()) return std::nullopt;
  const auto& [start, place] = *std::prev(after);
  if (place.count == 0 || address - start >= unwind::copies_bytes) return std::nullopt;
  return Block{start, place};
}

std::vector<MadeCode::Block> MadeCode::blocks(SpaceId space, const Mapping& mapping) const {
  std::vector<Block> found;
  const auto blocks = spaces_.find(space);
  if (blocks == spaces_.end()) return found;
  auto next = blocks->second.lower_bound(mapping.start);
  for (; next != blocks->second.end() && next->first < mapping.end; ++next)
    if (next->second.count != 0 && mapping.end - next->first >= unwind::copies_bytes)
      found.push_back({next->first, next->second});
  return found;
}

}  // namespace memflame
