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

#include "probes/languages/java/program.h"
#include "probes/languages/python/program.h"
#include "probes/languages/v8/program.h"
#include "probes/loading/bpf_object.h"
#include "probes/loading/process_links.h"
#include "probes/processes/spaces.h"

namespace memflame {

// Whether a file has an interpreter whose functions can be in stacks.
bool has_interpreter(const Module& module);

class Interpreters {
 public:
  // Before load: sizes the maps and chooses the program, or leaves everything out.
  static void prepare(bool wanted, unsigned cpus, BpfObject& object, bpf::config& config);
  // After load. `object` must outlive this.
  explicit Interpreters(BpfObject& object) : object_(object) {}

  // A file that programs recognise by its inode, so that a process has its functions from the first
  // stack on.
  void tell(ModuleId id, const Module& module, uint64_t inode);
  // What code a space has now. `slot`: its entry in code_slots; 0 = none.
  void publish(const Spaces& spaces, SpaceId space, std::span<const Mapping> code, uint32_t slot);
  // The entry belongs to another space from now on.
  void forget(uint32_t slot);
  // From now on probes are attached beside the reader, by a thread with the rights of the caller.
  void start() { freed_.start(); }
  void ended(const bpf::space_record& record);

  // What was met but cannot be read.
  std::vector<std::string> notes();

 private:
  const std::optional<PythonProgram>& program_of(ModuleId id, const Module& module);
  const std::optional<V8Program>& v8_of(ModuleId id, const Module& module);
  const std::optional<JavaProgram>& java_of(ModuleId id, const Module& module);
  // Whether the file has V8.
  bool publish_v8(const Spaces& spaces, SpaceId space, const Mapping& mapping, uint32_t slot);
  // Whether the file has Java's virtual machine.
  bool publish_java(const Spaces& spaces, SpaceId space, const Mapping& mapping, uint32_t slot);
  void watch_freed(ModuleId id, const Module& module, const PythonProgram& program, pid_t pid);

  BpfObject& object_;
  std::map<ModuleId, std::optional<PythonProgram>> programs_;
  std::map<ModuleId, std::optional<V8Program>> v8_;
  std::map<ModuleId, std::optional<JavaProgram>> java_;
  std::map<uint32_t, std::pair<SpaceId, uint64_t>> told_;  // by slot: for whom, and the key
  std::set<std::string> notes_;
  std::set<ModuleId> watched_files_;
  std::set<pid_t> watched_;
  ProcessLinks freed_;  // where code is freed
};

}  // namespace memflame
