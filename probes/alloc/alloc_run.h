// SPDX-License-Identifier: BSD-2-Clause
// The state of one run of the allocator probe: the functions it has probed, and the results of
// --check and --trace.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/unique_fd.h"
#include "probes/alloc/alloc_events.h"
#include "probes/alloc/attaching/governor.h"
#include "probes/alloc/block_table.h"
#include "probes/alloc/bpf/config.h"
#include "probes/alloc/custom/custom_sites.h"
#include "probes/alloc/settings/options.h"
#include "probes/alloc/settings/rate.h"
#include "probes/loading/process_links.h"
#include "probes/probe.h"

namespace memflame {

class BpfObject;

// Calls are counted only for functions with a number below this.
inline constexpr uint32_t most_counted_functions = 4096;

struct ProbedFunction {
  std::string name;       // "malloc"
  std::string allocator;  // "glibc", or the file's name
  std::string file;       // as the target names it
  bool gives = false;     // allocates blocks
  bool declared = false;  // by the user or a preset
  uint64_t since = 0;     // when its last probe was in place, CLOCK_MONOTONIC in ns; 0: not yet
};

class AllocRun : public Accounting {
 public:
  explicit AllocRun(const ProbeOptions& options);

  const ProbeOptions& options() const { return options_; }
  const AllocOptions& own() const { return own_; }
  // Called if a target samples its blocks itself and states each block's weight.
  void target_samples() { target_samples_ = true; }

  // The function's number, for call_shape.function. Functions beyond 16 bits share the last number.
  uint16_t number_of(const ProbedFunction& function);
  const std::vector<ProbedFunction>& functions() const { return functions_; }
  void probed(uint16_t number);  // all probes of the function are in place
  // Names of functions that were probed in several files.
  std::vector<std::string> shared_names() const;

  // The files examined so far, by device and inode. file() makes a missing entry.
  struct File {
    bool looked_at = false;
    bool allocates = false;
  };
  File& file(int fd);

  // Where exceptions are thrown. Probed as soon as a probed function may throw.
  struct ThrowSite {
    UniqueFd file;
    AllocatorSite site;
  };
  std::vector<ThrowSite>& throw_sites() { return throw_sites_; }
  bool has_throwing_calls = false;

  uint32_t next_usdt_site() { return usdt_sites_++; }

  const CustomFunctions& custom() const { return custom_; }
  void found_custom(int fd, const std::string& path, CustomFile file);
  // Throws Error if a declared function is missing or ambiguous.
  void require_custom() const;

  void attach(LoadedProbe& probe, Spaces& spaces) override;
  bool attach_module(LoadedProbe& probe, const Module& module) override;
  std::string function_of(const bpf::call_record& record) const override;
  void on_own_record(std::span<const std::byte> record) override;
  void on_target(pid_t pid) override;
  void on_process(const bpf::space_record& record) override;
  bool is_attached() const override { return process_links_.is_done(); }
  void armed(uint64_t since_ns) override;
  EventFeed* events() override { return events_.get(); }
  void disarmed() override {
    counting_ = false;
    if (events_) events_->disarmed();
  }
  void add_losses(const bpf::counters& counters, Losses& losses) const override;
  bool wants_end() const override { return governor_ && governor_->budget().is_over(); }
  void set_budget_share(double share) override {
    if (governor_) governor_->set_share(share);
  }
  void on_poll(LoadedProbe& probe, const OsLedger& os) override;
  bool is_sampled() const override { return target_samples_ || memflame::is_sampled(own_); }
  std::string sampling_in_words() const override;
  int64_t events_of(const int64_t* sums) const override { return sums[3]; }
  // What --check has found, and who touched pages, name stacks of all processes.
  bool can_move() const override { return !own_.check && !options_.first_touch; }
  void finish(const LoadedProbe& probe, RecordingRows& rows) override;
  void reconcile(const LoadedProbe& probe, const OsLedger& os, Recording& recording) override;
  void judge(Recording& recording) override;
  void describe(RunInfo& info) const override;

  // Used only with ProbeOptions::own_links.
  ProcessLinks& process_links() { return process_links_; }

 private:
  void say_unknown_sizes(Recording& recording) const;
  void say_inlined(Recording& recording) const;
  void say_calls(const BpfObject& object, Recording& recording) const;
  void on_candidate(std::span<const std::byte> bytes);
  bool saw_enough(const bpf::candidate_record& record) const;
  void leave_out_unsure(const bpf::counters& counters, Recording& recording);
  static void say_late_processes(const LateProcesses& late, Recording& recording);

  // Kind, families, and the keys of three stacks: of the free, the allocation, and the first free.
  using CandidateKey = std::tuple<uint32_t, uint32_t, uint64_t, uint64_t, uint64_t>;
  struct Seen {
    uint64_t events = 0;
    uint64_t bytes = 0;
    uint32_t freed_by = 0;  // number of the function
  };

  std::set<std::string> files_with_unseen_doors(const bpf::counters& counters) const;

  ProbeOptions options_;
  const AllocOptions& own_;  // of options_
  BlockTable table_;
  bool counting_ = false;
  bool target_samples_ = false;
  std::vector<ProbedFunction> functions_;
  std::map<std::pair<uint64_t, uint64_t>, File> files_;  // by device and inode
  uint32_t usdt_sites_ = 0;
  std::vector<ThrowSite> throw_sites_;
  CustomFunctions custom_;
  std::vector<CustomFile> custom_files_;
  std::vector<UniqueFd> custom_fds_;
  std::vector<CandidateFile> candidates_of_custom_;
  std::map<CandidateKey, Seen> candidates_;
  uint64_t unsure_ = 0;  // frees that look wrong, but not everything before them was seen
  std::map<uint32_t, uint64_t> unsure_of_;  // those of never seen addresses, by freeing function
  std::unique_ptr<AllocEvents> events_;
  std::unique_ptr<Governor> governor_;
  bool saw_calls_ = false;
  ProcessLinks process_links_;
};

}  // namespace memflame
