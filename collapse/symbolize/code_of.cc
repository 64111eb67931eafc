// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/code_of.h"

#include <algorithm>

namespace memflame {
namespace {

// The kernel maps a program before the libraries that it needs, and /proc lists it first.
ModuleId program_of(const Recording& recording, const Space& space) {
  for (const Mapping& mapping : space.mappings)
    if (mapping.module && mapping.module.index < recording.modules.size() &&
        recording.modules[mapping.module.index].kind == ModuleKind::file)
      return mapping.module;
  return {};
}

}  // namespace

CodeOf::CodeOf(Recording& recording, Begin begin)
    : recording_(recording), is_program_(recording.modules.size(), false) {
  if (begin == Begin::anew) {
    recording.code = {};
    recording.code_of.assign(recording.locations.size(), {});
  }
  for (const Space& space : recording.spaces)
    if (const ModuleId program = program_of(recording, space)) is_program_[program.index] = true;
}

void CodeOf::set(LocationId location, ModuleId module, const CodeMapping& mapping,
                 uint64_t address) {
  if (address < mapping.start || address >= mapping.limit) return;
  const CodeMappingId id = recording_.code.add(mapping);
  if (is_program_[module.index]) recording_.code.mark_program(id);
  recording_.code_of[location.index] = recording_.code.add({id, address});
}

void CodeOf::set_offsets(ModuleId module, const std::vector<NamelessAddress>& targets) {
  if (targets.empty()) return;
  const auto [first, last] = std::minmax_element(
      targets.begin(), targets.end(),
      [](const NamelessAddress& a, const NamelessAddress& b) { return a.offset < b.offset; });
  const uint64_t start = first->offset / code_page * code_page;
  CodeMapping mapping{.file = recording_.modules[module.index].path,
                      .build_id = recording_.modules[module.index].build_id,
                      .start = start,
                      .limit = last->offset / code_page * code_page + code_page,
                      .offset = start};
  for (const NamelessAddress& target : targets)
    set(target.location, module, mapping, target.offset);
}

}  // namespace memflame
