// SPDX-License-Identifier: BSD-2-Clause
// Everything user space does for complete stacks: it loads the unwind tables of the files that are
// mapped, tells the BPF programs what code is where, and walks the stacks they had to copy.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "probes/languages/interpreters/interpreters.h"
#include "probes/loading/bpf_object.h"
#include "probes/options/options.h"
#include "probes/processes/spaces.h"
#include "probes/run/code_entries.h"
#include "probes/run/known_files.h"
#include "probes/run/made_code.h"
#include "probes/unwind/code_lists.h"
#include "probes/unwind/copied_stack.h"
#include "probes/unwind/tables.h"

namespace memflame {

// Figures of all stacks that were taken, in the kernel and here.
struct StackStatistics {
  uint64_t captured = 0, frames = 0;  // user frames, summed over all
  uint64_t deferred = 0;              // of them, walked in user space
  std::array<uint64_t, bpf::stop_count> stops{};
};

class Unwinder {
 public:
  explicit Unwinder(const ProbeOptions& options);

  // Before load: makes the tables of the processes that are targets already, so that the programs'
  // memory can be sized, and sizes it.
  void prepare(Spaces& spaces, const std::vector<pid_t>& pids, BpfObject& object, unsigned cpus,
               bpf::config& config);
  // After load.
  void begin(const Spaces& spaces, BpfObject& object);

  // The entry in code_slots of a space that user space begins; 0 if none is left.
  uint32_t claim(SpaceId space);
  void release(SpaceId space);

  // A part of a space's code was unmapped at that time.
  void code_unmapped(Spaces& spaces, SpaceId space, uint64_t time_ns);
  // Publishes what has changed.
  void refresh(Spaces& spaces);
  // A stack of this space and time met code without a table at `address`: makes the table.
  void demand(Spaces& spaces, SpaceId space, uint64_t address, uint64_t time_ns);

  // Walks a copied stack. The mappings must be known up to `record.time`.
  // `scripts`: what came with it of functions of interpreters; null = nothing.
  RawStack walk(Spaces& spaces, const bpf::copy_record& record, const bpf::script_chain* scripts);
  // Spaces::later_code_of(), with turns as the programs have them (bpf/turns.h).
  std::vector<LaterCode> later_code(Spaces& spaces, SpaceId space, uint64_t time_ns) const;
  unwind::WalkedStack walk_again(Spaces& spaces, const bpf::copy_record& record,
                                 const bpf::script_chain* scripts) const;

  StackStatistics statistics(const bpf::counters& counters) const;
  const unwind::TableStatistics& tables() const { return tables_.statistics(); }
  // Counting begins: from now on, nothing waits for a process's probes.
  void armed() {
    if (interpreters_) interpreters_->start();
  }
  void ended(const bpf::space_record& record) {
    if (interpreters_) interpreters_->ended(record);
  }
  // What is missing of interpreted languages.
  std::vector<std::string> language_notes() {
    return interpreters_ ? interpreters_->notes() : std::vector<std::string>();
  }
  const std::string& cache_problem() const { return tables_.cache_problem(); }
  // Copied stacks whose functions of interpreters are not all known.
  uint64_t scripts_unread() const { return scripts_unread_; }
  // How often there was no room to tell the programs about a space's code.
  uint64_t refused() const { return lists_ ? lists_->refused() : 0; }

 private:
  template <class T>
  std::span<T> map_array(BpfObject& object, const char* name, size_t entries);
  void publish(Spaces& spaces, SpaceId space);
  void tell(ModuleId id, const Module& module);
  std::set<ModuleId> expected_soon(Spaces& spaces, bool programs) const;
  void make_tables(const Spaces& spaces, std::span<const Mapping> code);
  void make_tables(const std::vector<std::pair<ModuleId, const Module*>>& modules);
  unwind::FoundRow find_row(std::span<const Mapping> code, const Spaces& spaces, SpaceId space,
                            uint64_t address) const;

  const ProbeOptions& options_;
  bool eager_;  // tables of all code of a space are loaded as soon as it is seen
  unwind::Tables tables_;
  std::optional<unwind::CodeLists> lists_;
  std::optional<KnownFiles> files_;
  std::optional<Interpreters> interpreters_;  // with functions of interpreted languages
  MadeCode made_code_;
  std::map<ModuleId, uint64_t> inodes_;  // the kernel's addresses of them
  std::vector<std::shared_ptr<void>> mapped_;
  uint32_t rows_ = 0, mappings_ = 0, slots_ = 0;
  std::set<SpaceId> stale_;  // whose lists miss a table that is loaded now
  StackStatistics walked_;   // of copied stacks
  uint64_t scripts_unread_ = 0;
};

}  // namespace memflame
