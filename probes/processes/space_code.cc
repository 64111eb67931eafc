// SPDX-License-Identifier: BSD-2-Clause
// Spaces: which code was mapped at a time, and at an address.
#include <algorithm>

#include "probes/processes/overlay.h"
#include "probes/processes/spaces.h"

namespace memflame {
namespace {

constexpr size_t most_code_kept = 1024;  // results of code_then()

}  // namespace

// Bounded, also below: a chain of forks can be as long as there were processes.
uint64_t Spaces::changes_of(SpaceId id) const {
  uint64_t changes = 0;
  for (int hops = 0; hops < 1024 && id && is_known(id); ++hops) {
    changes += known(id).changes;
    id = known(id).space.forked_from;
  }
  return changes;
}

const Spaces::CodeThen& Spaces::code_then(SpaceId id, uint64_t time_ns) {
  const uint64_t changes = changes_of(id);
  if (code_.size() >= most_code_kept && !code_.contains(id.index)) code_.clear();
  CodeThen& kept = code_[id.index];
  if (kept.changes != changes || time_ns < kept.from_ns || time_ns >= kept.until_ns) {
    kept = look_up_code(id, time_ns);
    kept.changes = changes;
    kept.later = later(id, kept.code);
  }
  return kept;
}

std::vector<const CodeTurns*> Spaces::turns_of(SpaceId id) const {
  std::vector<const CodeTurns*> turns;
  for (int hops = 0; hops < 1024 && id && is_known(id); ++hops) {
    turns.push_back(&known(id).turns);
    id = known(id).space.forked_from;
  }
  std::ranges::reverse(turns);
  return turns;
}

std::vector<LaterCode> Spaces::later(SpaceId id, std::span<const Mapping> code) const {
  const std::vector<const CodeTurns*> turns = turns_of(id);
  std::vector<LaterCode> later;
  if (std::ranges::none_of(turns, &CodeTurns::any)) return later;
  for (const Mapping& mapping : code)
    if (const uint64_t turn = turn_of(mapping, is_file(mapping), turns))
      later.push_back({mapping.start, mapping.end, turn, mapping.module});
  return later;
}

void Spaces::note_turn(Watched& space, const Mapping& mapping) {
  std::vector<const CodeTurns*> before = turns_of(space.id);
  before.pop_back();
  space.turns.note(mapping, is_file(mapping), before);
}

Spaces::CodeThen Spaces::look_up_code(SpaceId id, uint64_t time_ns) const {
  CodeThen result;
  result.until_ns = UINT64_MAX;
  const uint64_t wanted_ns = time_ns;
  uint64_t born_ns = UINT64_MAX;  // a child has only what its parent had before the fork
  const auto limit = [&](uint64_t at) {
    if (at <= wanted_ns)
      result.from_ns = std::max(result.from_ns, at);
    else if (at <= born_ns)
      result.until_ns = std::min(result.until_ns, at);
  };
  std::vector<const Mapping*> then;
  std::vector<const Mapping*> later;  // may have been there before they were noticed
  // A child begins with its parent's code.
  for (int hops = 0; hops < 1024 && id && is_known(id); ++hops) {
    const Space& space = known(id).space;
    for (auto m = space.mappings.rbegin(); m != space.mappings.rend(); ++m) {
      limit(m->from_ns);
      limit(m->until_ns);
      if (m->until_ns <= time_ns) continue;
      (m->from_ns <= time_ns ? then : later).push_back(&*m);
    }
    time_ns = std::min(time_ns, space.from_ns);
    born_ns = std::min(born_ns, space.from_ns);
    id = space.forked_from;
  }
  then.insert(then.end(), later.begin(), later.end());
  result.code = overlay(then);
  return result;
}

const Mapping* Spaces::find(SpaceId id, uint64_t address) const {
  for (int hops = 0; hops < 1024 && id && is_known(id); ++hops) {
    const Space& space = known(id).space;
    for (auto m = space.mappings.rbegin(); m != space.mappings.rend(); ++m)
      if (address >= m->start && address < m->end) return &*m;
    id = space.forked_from;
  }
  return nullptr;
}

std::vector<SpaceId> Spaces::with_code(std::span<const Mapping> code) const {
  std::vector<bool> wanted(modules_.size());
  for (const Mapping& mapping : code) wanted[mapping.module.index] = true;
  std::vector<SpaceId> found;
  for (const auto& [number, space] : spaces_)
    if (!space.ended && std::any_of(space.space.mappings.begin(), space.space.mappings.end(),
                                    [&](const Mapping& m) { return wanted[m.module.index]; }))
      found.push_back(space.id);
  return found;
}

std::optional<FileUser> Spaces::user_of(ModuleId file, uint64_t time_ns) const {
  std::optional<FileUser> found;
  uint64_t longest_ns = 0;
  for (const auto& [number, each] : spaces_)
    for (const Mapping& mapping : each.space.mappings) {
      if (mapping.module.index != file.index) continue;
      const uint64_t from = std::max(mapping.from_ns, each.space.from_ns);
      const uint64_t until = std::min(time_ns, each.end_ns);
      const uint64_t ns = until > from ? until - from : 0;
      if (found && ns <= longest_ns) continue;
      longest_ns = ns;
      found = {.pid = static_cast<pid_t>(each.space.pid),
               .comm = each.space.comm,
               .from_ns = from,
               .until_ns = each.end_ns};
    }
  return found;
}

}  // namespace memflame
