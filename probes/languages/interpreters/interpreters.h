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

#include "probes/languages/script.h"
#include "probes/loading/bpf_object.h"
#include "probes/loading/process_links.h"
#include "probes/processes/spaces.h"

namespace memflame {

// What a file says of the interpreter in it.
struct InterpreterFile {
  std::string language;     // "Python"
  std::string named;        // "Python 3.11", for notes
  std::string problem;      // why its functions cannot be read; "" = they can
  bpf::interpreter told{};  // addresses in it are those of the file
  uint64_t delta = 0;       // of its code: address = offset in the file + this
  // Functions that free or move code: offsets in the file, with numbers as cookies
  // (interpreter::met).
  std::vector<UprobeSite> frees;
};

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
  const std::optional<InterpreterFile>& file_of(ModuleId id, const Module& module);
  // Whether the probes are there already.
  bool watch_freed(ModuleId id, const Module& module, const InterpreterFile& file, pid_t pid);
  FilePuts puts_of(const Module& module, const InterpreterFile& known) const;

  BpfObject& object_;
  std::map<ModuleId, std::optional<InterpreterFile>> files_;
  std::map<uint32_t, std::pair<SpaceId, uint64_t>> told_;  // by slot: for whom, and the base
  std::set<std::string> notes_;
  std::set<ModuleId> watched_files_;
  std::set<pid_t> watched_;
  ProcessLinks freed_;         // where code is freed or moved
  bool names_depend_ = false;  // on these probes, in some process
};

}  // namespace memflame
