// SPDX-License-Identifier: BSD-2-Clause
// What the user asked a probe to do.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/bpf/shared.h"
#include "probes/options/option_row.h"
#include "probes/system/cgroups.h"

namespace memflame {

// At most one of pids, comm, cgroups and command is set. If nothing is set, the target is the whole
// system.
struct Target {
  std::vector<pid_t> pids;
  std::string comm;                 // every process of this name, at most 15 bytes
  std::vector<CgroupName> cgroups;  // every process in one of these, or in a cgroup below it
  // What a process must be, too; these are looked for in /proc every few seconds (by_scan()).
  std::string program;               // its executable: a path, or a name without folders
  std::string owner;                 // a user's name, or number
  int64_t above = 0;                 // resident bytes, at least
  std::vector<std::string> command;  // argv of a program to start
  std::string user;                  // the user to start it as, as typed; empty = not given
  std::string runs_as;               // the user it is started as; empty = memflame's own
  bool follow_children = true;
  bool one_by_one = false;  // none yet: they are added while the run goes on

  // Processes by what they have in common: those that run, and those that come.
  bool by_scan() const { return !program.empty() || !owner.empty() || above != 0; }
  bool is_selection() const { return !comm.empty() || !cgroups.empty() || by_scan(); }
  bool whole_system() const {
    return pids.empty() && command.empty() && !is_selection() && !one_by_one;
  }
};

// How user stacks are taken: by unwind tables, by frame pointers only, or as copies that memflame
// walks in user space. In the order of bpf::stacks.
enum class Stacks : uint8_t { dwarf, fp, copy };

// Who records: the kernel, an agent in the processes themselves, or the runtime of a Go program. In
// the order of the words of
// --collect.
enum class Collect : uint8_t { by_rights, kernel, inside, go };

struct ProbeOptions;

// The options of one probe: each probe derives its own in its folder.
class ProbeSettings {
 public:
  ProbeSettings() = default;
  ProbeSettings(const ProbeSettings&) = delete;
  ProbeSettings& operator=(const ProbeSettings&) = delete;
  virtual ~ProbeSettings() = default;

  // One row per option. A row sets a field of this object or of `common`; both must outlive it.
  virtual std::vector<OptionRow> rows(ProbeOptions& common) = 0;
  // Called when the whole command line has been read; may change `common`. Throws Error(usage) if
  // options contradict each other.
  virtual void settle(ProbeOptions& /*common*/) {}
  // "filtered: …" for each option that leaves something out.
  virtual std::vector<std::string> filters_in_words() const { return {}; }
  // The option that only the kernel's collector can fulfil; "" if there is none.
  virtual std::string only_in_kernel() const { return ""; }
  // The allocated bytes for each of which one block is sampled, on average; 0 = all blocks count.
  virtual uint64_t sampled_bytes() const { return 0; }
  // The budget in percent of the target's CPU time, within which to sample; 0 = none.
  virtual double most_overhead() const { return 0; }
  // "1 sample per 512 KiB"; "" = all blocks count.
  virtual std::string sampling_in_words() const { return ""; }
  // True if the summary at the end is needed whatever else is written.
  virtual bool wants_summary() const { return false; }
};

// The options of a run, as far as they are for every probe.
struct ProbeOptions {
  Target target;
  std::shared_ptr<ProbeSettings> own;  // the probe's own options, shared by copies; null = none
  std::string value;                   // a name of Probe::values; empty = the first
  std::optional<double> seconds;
  Collect collect = Collect::kernel;
  Stacks stacks = Stacks::dwarf;
  bool languages = true;         // stacks have the functions of interpreted languages
  uint32_t max_depth = 512;      // user frames, at most 1023
  uint32_t max_table_mib = 256;  // maximum for all unwind tables
  uint32_t copy_kib = 64;        // maximum of a stack to copy, at most 64
  uint32_t check_every = 0;      // for tests: one walked stack in N goes to check_file, too
  std::string check_file;        // see stack_dump.h
  bool kernel_stacks = false;
  bool status_line = false;  // live line on stderr
  bool verbose = false;
  // For probes that follow blocks (Probe::has_blocks).
  uint64_t min_size = 0, max_size = UINT64_MAX;  // sizes of the blocks that count
  uint32_t max_live = 0;       // entries of the live table; 0 = from the machine's memory
  bool forgets_ended = false;  // blocks of processes that have ended make room for others
  bool ages = false;           // keep the time at which each block was allocated
  bool reachable = false;      // at the end, find out to which blocks pointers still lead
  bool waste = false;          // the figures of waste_types(), see probes/run/waste.h …
  bool first_touch = false;    // … and who touched the pages of blocks first, touch_types()
  // For an agent: how long the threads of a process, together, may wait for memflame in each second
  // before allocations are lost; 0 = no limit.
  uint32_t max_wait_ms = 0;
  bool python_heap = false;  // for an agent: the blocks of Python's own allocator count, too
  bool events = false;       // what happens to each block goes to LiveRun::take_events() …
  bool free_stacks = false;  // … and a free has its stack
  // For probes on functions. True: only the watched processes get them, a child soon after its
  // start. False: all processes that use the same files, so a child has them from its first
  // instruction.
  bool own_links = false;
  std::string passed_over;  // a file whose functions only call those of others; "" = none
  bool until_exec = false;  // a process is watched until it executes another program
  // For an agent: the kernel's probes may count the processes that no agent sees.
  bool takes_over = false;
  bool calls = false;  // for probes on functions: each call goes to Observer::called()
  // The sizes of tables.
  uint32_t max_stacks = 131072;     // about 100 bytes of kernel memory each
  uint32_t max_spaces = 262144;     // address spaces
  uint32_t ring_bytes = 16u << 20;  // a power of two
  uint64_t memory = 0;  // limit for all tables in bytes, see memory_plan.h; 0 = not given
  // Counting begins when Observer::resumes() says so; a command runs meanwhile.
  bool start_paused = false;
  int ready_fd = -1;  // gets "1\n" when counting begins, or may be resumed
};

// `options.own` as the class that the probe's `settings` made.
template <class Settings>
const Settings& own_options(const ProbeOptions& options) {
  return dynamic_cast<const Settings&>(*options.own);
}

}  // namespace memflame
