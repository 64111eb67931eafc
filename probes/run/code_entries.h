// SPDX-License-Identifier: BSD-2-Clause
// What code a space has, and where its unwind rows are: the list that BPF programs and agents
// search, made of mappings, tables and generated code.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/recording.h"
#include "probes/processes/spaces.h"
#include "probes/run/made_code.h"
#include "probes/unwind/tables.h"

namespace memflame {

struct CodeEntry {
  uint64_t start = 0, end = 0;
  uint64_t base = 0;       // address of the table's row with pc 0
  uint32_t first_row = 0;  // in the rows of all tables
  uint32_t rows = 0;       // enum bpf::code_rows, or how many
};

// The files with code here that may have unwind information, and whose tables are not made yet.
std::vector<std::pair<ModuleId, const Module*>> without_table(const Spaces& spaces,
                                                              std::span<const Mapping> code,
                                                              const unwind::Tables& tables);
// The C library comes first: every stack ends in it, and memory may be too short for all tables.
void needed_first(std::vector<std::pair<ModuleId, const Module*>>& files);

// The kernel's page of return probes and displaced instructions is nobody's code.
bool is_uprobes_page(const Module& module);

CodeEntry entry_of(const Spaces& spaces, const Mapping& mapping, const unwind::Tables& tables);
CodeEntry entry_of(const MadeCode::Block& block);

// Sorted, as `code` is; adjacent code that is walked by frame pointers is one entry. Looks at the
// process's memory for generated code whose rows are known, and adds these to the tables.
std::vector<CodeEntry> code_entries(const Spaces& spaces, SpaceId space,
                                    std::span<const Mapping> code, unwind::Tables& tables,
                                    MadeCode& made_code);
// The same if all code is walked by frame pointers.
std::vector<CodeEntry> code_entries_without_tables(const Spaces& spaces,
                                                   std::span<const Mapping> code);

}  // namespace memflame
