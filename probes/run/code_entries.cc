// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/code_entries.h"

#include <algorithm>
#include <string_view>

#include "probes/bpf/shared.h"

namespace memflame {
namespace {

void append(std::vector<CodeEntry>& list, const CodeEntry& next) {
  if (!list.empty() && next.rows == bpf::code_frame_pointer &&
      list.back().rows == bpf::code_frame_pointer && list.back().end == next.start)
    list.back().end = next.end;
  else
    list.push_back(next);
}

CodeEntry by_frame_pointers(uint64_t start, uint64_t end) {
  CodeEntry entry;
  entry.start = start;
  entry.end = end;
  entry.rows = bpf::code_frame_pointer;
  return entry;
}

// The parts whose rows are known, and the code between them, which is walked by frame pointers.
void append_made_code(const Mapping& mapping, const std::vector<MadeCode::Block>& blocks,
                      std::vector<CodeEntry>& list) {
  uint64_t start = mapping.start;
  for (const MadeCode::Block& block : blocks) {
    if (start < block.start) append(list, by_frame_pointers(start, block.start));
    append(list, entry_of(block));
    start = block.start + unwind::copies_bytes;
  }
  if (start < mapping.end) append(list, by_frame_pointers(start, mapping.end));
}

}  // namespace

std::vector<std::pair<ModuleId, const Module*>> without_table(const Spaces& spaces,
                                                              std::span<const Mapping> code,
                                                              const unwind::Tables& tables) {
  std::vector<std::pair<ModuleId, const Module*>> files;
  for (const Mapping& mapping : code) {
    const Module& module = spaces.module(mapping.module);
    const bool has_image = module.kind == ModuleKind::vdso ||
                           (module.kind == ModuleKind::file && module.file.get() >= 0);
    if (has_image && !tables.is_made(mapping.module)) files.emplace_back(mapping.module, &module);
  }
  needed_first(files);
  return files;
}

void needed_first(std::vector<std::pair<ModuleId, const Module*>>& files) {
  const auto is_library = [](const auto& file) {
    const std::string_view path = file.second->path;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.starts_with("libc.") || name.starts_with("libc-") ||
           name.starts_with("libpthread") || name.starts_with("ld-");
  };
  std::stable_partition(files.begin(), files.end(), is_library);
}

bool is_uprobes_page(const Module& module) { return module.path.starts_with("[uprobes"); }

CodeEntry entry_of(const Spaces& spaces, const Mapping& mapping, const unwind::Tables& tables) {
  CodeEntry entry = by_frame_pointers(mapping.start, mapping.end);
  if (spaces.module(mapping.module).kind == ModuleKind::anonymous) return entry;
  entry.rows = bpf::code_no_table;
  if (!tables.is_made(mapping.module)) return entry;
  const unwind::Table& table = tables.table(mapping.module);
  if (table.segments.empty() ||
      !unwind::base_address(table, mapping.start, mapping.offset, entry.base)) {
    entry.rows = bpf::code_frame_pointer;  // code in a file that is not a program
    return entry;
  }
  const unwind::Tables::Place place = tables.place(mapping.module);
  if (place.count == 0) return entry;
  entry.first_row = place.first;
  entry.rows = place.count;
  return entry;
}

CodeEntry entry_of(const MadeCode::Block& block) {
  return {.start = block.start,
          .end = block.start + unwind::copies_bytes,
          .base = block.start,
          .first_row = block.place.first,
          .rows = block.place.count};
}

std::vector<CodeEntry> code_entries(const Spaces& spaces, SpaceId space,
                                    std::span<const Mapping> code, unwind::Tables& tables,
                                    MadeCode& made_code) {
  std::vector<CodeEntry> list;
  for (const Mapping& mapping : code) {
    const Module& module = spaces.module(mapping.module);
    if (is_uprobes_page(module)) continue;
    if (module.kind != ModuleKind::anonymous) {
      append(list, entry_of(spaces, mapping, tables));
      continue;
    }
    made_code.look(space, spaces.pid_of(space), mapping, tables);
    append_made_code(mapping, made_code.blocks(space, mapping), list);
  }
  return list;
}

std::vector<CodeEntry> code_entries_without_tables(const Spaces& spaces,
                                                   std::span<const Mapping> code) {
  std::vector<CodeEntry> list;
  for (const Mapping& mapping : code)
    if (!is_uprobes_page(spaces.module(mapping.module)))
      append(list, by_frame_pointers(mapping.start, mapping.end));
  return list;
}

}  // namespace memflame
