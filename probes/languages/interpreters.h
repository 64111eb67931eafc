// SPDX-License-Identifier: BSD-2-Clause
// Finds interpreters in watched processes, and tells the BPF programs where their state is, so that
// functions of their languages appear in stacks (bpf/scripts.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probes/languages/python/program.h"
#include "probes/loading/bpf_object.h"
#include "probes/loading/links.h"
#include "probes/processes/spaces.h"

namespace memflame {

class Interpreters {
 public:
  // Before load: sizes the maps and chooses the program, or leaves everything out.
  static void prepare(bool wanted, unsigned cpus, BpfObject& object, bpf::config& config);
  // After load. `object` must outlive this.
  explicit Interpreters(BpfObject& object) : object_(object) {}

  // What code a space has now. `slot`: its entry in code_slots; 0 = none.
  void publish(const Spaces& spaces, SpaceId space, std::span<const Mapping> code, uint32_t slot);
  // The entry belongs to another space from now on.
  void forget(uint32_t slot);

  // What was met but cannot be read.
  std::vector<std::string> notes() const { return {notes_.begin(), notes_.end()}; }

 private:
  const std::optional<PythonProgram>& program_of(const Spaces& spaces, ModuleId id);
  void watch_free(const Module& module, const PythonProgram& program, pid_t pid);

  BpfObject& object_;
  std::map<ModuleId, std::optional<PythonProgram>> programs_;
  std::map<uint32_t, std::pair<SpaceId, uint64_t>> told_;  // by slot: for whom, and the key
  std::set<std::string> notes_;
  Links links_;
};

}  // namespace memflame
