// SPDX-License-Identifier: BSD-2-Clause
// What the user asked a probe to do.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "probes/bpf/shared.h"
#include "probes/cgroups.h"

namespace memflame {

// At most one of pids, comm, cgroups and command is set; none of them means the whole system.
struct Target {
  std::vector<pid_t> pids;
  std::string comm;                  // every process of that name, at most 15 bytes
  std::vector<CgroupName> cgroups;   // every process in one of them or below
  std::vector<std::string> command;  // argv of a program to start
  std::string user;                  // the user to start it as, as typed; empty = not given
  std::string runs_as;               // the user it is started as; empty = memflame's own
  bool follow_children = true;
  // alloc: probes for the watched processes only, and for a child as soon as it has started. False:
  // for all processes that use the same files, so a child has them from the start.
  bool own_links = false;

  bool whole_system() const {
    return pids.empty() && comm.empty() && cgroups.empty() && command.empty();
  }
};

// How user stacks are taken: by unwind tables, by frame pointers only, or as copies that are walked
// in user space. In the order of bpf::stacks.
enum class Stacks : uint8_t { dwarf, fp, copy };

struct ProbeOptions {
  Target target;
  std::string value;         // a name of Probe::values; empty = the first
  std::string kind = "all";  // mmap, kernel: which memory
  std::optional<double> seconds;
  Stacks stacks = Stacks::dwarf;
  uint32_t max_depth = 512;      // user frames, at most 1023
  uint32_t max_table_mib = 256;  // of unwind tables, at most
  uint32_t copy_kib = 64;        // of a copied stack, at most 64
  uint32_t check_every = 0;      // for tests: one walked stack in N goes to check_file, too
  std::string check_file;        // see stack_dump.h
  bool kernel_stacks = false;
  bool status_line = false;  // live line on stderr
  bool verbose = false;
  uint64_t sample_bytes = 0;  // alloc: mean distance of samples in allocated bytes; 0 = no sampling
  uint32_t every = 0;         // keep one event in N; 0 = all
  double max_overhead = 0;    // alloc: percent of the target's CPU time; 0 = no limit
  uint64_t min_size = 0, max_size = UINT64_MAX;  // alloc: sizes of the blocks that count
  bool target_samples = false;  // alloc, detected: the target says what its blocks stand for
  bool usable_size = false;     // alloc: as the allocator gives it
  bool requested_size = false;  // kernel: as asked for, not as given
  bool ages = false;            // alloc: blocks know when they were allocated
  bool check = false;           // alloc: look for wrong frees
  std::string symbols_prefix;   // alloc: names that begin with this, too
  std::vector<std::string> alloc_specs, free_specs, presets;  // alloc: see alloc/custom.h
  // alloc: gets each call, with the function's name; null = not wanted.
  std::function<void(const bpf::call_record&, const std::string& function)> on_call;
  std::string object;               // alloc: only functions of files with this name or path
  uint32_t max_live = 0;            // entries of the live table; 0 = from the machine's memory
  uint32_t max_stacks = 131072;     // about 100 bytes of kernel memory each
  uint32_t max_spaces = 262144;     // address spaces
  uint32_t ring_bytes = 16u << 20;  // a power of two
  uint64_t memory = 0;  // limit for all tables in bytes, see memory_plan.h; 0 = not given
  int ready_fd = -1;    // gets "1\n" when counting begins
};

}  // namespace memflame
