// SPDX-License-Identifier: BSD-2-Clause
// The text of memflame leaks: values in, lines out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/verdicts/verdict.h"
#include "core/losses.h"
#include "core/reach.h"
#include "probes/bpf/shared.h"
#include "probes/reach/scan.h"
#include "probes/run/snapshot.h"

namespace memflame {

// A stack in one version of a service.
struct FleetGrowth {
  std::string_view verdict;  // name(StoreGrowth::Kind)
  std::string version;
  uint64_t hosts = 0, growing_hosts = 0;
  double bytes_per_hour = 0;
};

struct ReportedStack {
  Amount amount;
  std::optional<Amount> before;        // in the last report; none for the first report
  std::string verdict;                 // a sentence; "" if the stack was not judged
  std::optional<Verdict> judged;       // its figures
  std::optional<FleetGrowth> fleet{};  // those of a stack in a store
  std::string process;                 // "leaky (1234)"; "" if stacks belong to no process
  std::vector<std::string> frames;     // innermost first
  std::vector<SnapshotBlock> blocks;   // some of them, if requested
  size_t blocks_left_out = 0;
  std::optional<ReachSums> reach;  // if the run was scanned
};

struct ReportedReach {
  ReachSums sums;  // of all stacks
  std::vector<ScanFacts> scanned;
};

struct LeaksReport {
  std::string clock;   // "16:30:01"
  double seconds = 0;  // since counting began
  Amount live;         // of all blocks
  std::optional<Amount> live_before;
  uint64_t older_ns = 0;
  bool has_ended = false;  // some of `old` is of ended processes, at any age
  Amount old;              // of blocks that are old enough
  size_t stacks = 0;       // stacks with such blocks
  std::vector<ReportedStack> top;
  std::string_view order = "size";
  std::string verdicts;  // on all stacks together; "" if none was judged
  std::string sampling;  // how it was sampled, in words; "" = all figures are exact
  Losses losses;
  uint64_t unseen_frees = 0;         // blocks whose free was not seen, found when allocated again
  std::vector<std::string> notes{};  // further lines: filters, processes that were killed
  std::optional<ReportedReach> reach{};  // if the run was scanned
};

// `exact`: bytes in full, not rounded to KiB, MiB, ….
std::string report_text(const LeaksReport& report, bool exact);

// What a scan of a process was like: "scanned process 1234: stopped for 83 ms, 1.0 GiB read".
std::string in_words(const ScanFacts& scan);

// A line for one call of an allocator, at a time since `start_ns`: "malloc(64) = 0x55d4c0".
std::string call_text(const bpf::call_record& call, const std::string& function, uint64_t start_ns);

}  // namespace memflame
