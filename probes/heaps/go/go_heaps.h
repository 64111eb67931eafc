// SPDX-License-Identifier: BSD-2-Clause
// The heap profiles of all Go programs among the processes that were asked for, also of those that
// come later, as one run: for `memflame watch`, alone or beside a run of the other collectors. The
// processes are not touched, only read.
//
// They are looked for every two seconds. One that is not a Go program, or whose profile cannot be
// read, is tried again after waits that double, as it may execute another program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probes/heaps/go/go_figures.h"
#include "probes/heaps/go/go_live_run.h"
#include "probes/heaps/go/go_process.h"
#include "probes/probe.h"
#include "probes/run/run.h"

namespace memflame {

// Columns beside those of go_types(): what was allocated since the process is watched. The probe's
// own totals count from its beginning.
inline constexpr std::string_view watched_column = "watched";
inline constexpr std::string_view watched_count_column = "watched-count";

class GoHeaps : public GoLiveRun {
 public:
  // `others`: whether programs that are not of Go are watched by another run.
  enum class Others : uint8_t { missed, watched };
  // Both must outlive this. Throws Error.
  GoHeaps(const Probe& probe, const ProbeOptions& options, Others others);

  uint64_t arm();  // when that was (CLOCK_MONOTONIC)
  void step();     // looks for processes if it is time, and at one of them; some milliseconds
  void poll();     // about 10 ms
  void disarm() { see_ends(); }

  // Processes that were asked for, that run, and whose heap nobody watches.
  struct Unwatched {
    size_t count = 0;
    std::string first;  // some of them, with the reason: "api (4711) keeps no heap profile; …"
  };
  Unwatched unwatched() const;
  size_t watched() const { return current_.size(); }
  bool has_met_any() const { return !watched_.empty(); }
  // The mean distance of samples, the largest of all processes; 0: every block, or no process.
  uint64_t sample_bytes() const;
  uint64_t unread() const { return unread_; }  // readings that failed, as figures changed meanwhile

  void read_pss() override {}

  Recording finish();
  void describe(RunInfo& info) const;
  uint64_t sampled_blocks() const;
  uint64_t live_bytes() const;

 private:
  using Key = std::pair<pid_t, uint64_t>;  // a process, with its start
  struct Watched {
    pid_t pid = 0;
    SpaceId space;
    std::unique_ptr<GoProcess> process;  // none: it has ended, or runs another program
    std::string program;
    uint64_t rate = 0;
    std::map<std::vector<uint64_t>, uint64_t> keys;  // of stacks, by their addresses
    GoSums sums, before;  // `before`: when it was first read, of a process that was there already
  };
  // A process that is not watched.
  struct Other {
    unsigned tries = 0;
    uint64_t next_ns = 0;
    std::string why;  // its heap is missed; "": it is watched by another run, or was not tried
  };

  void add_figures(size_t probe, std::span<const ValueType> types, Rows& rows) override;
  void for_each_sum(const VisitSum& visit) override;
  bool is_sampled() const override { return true; }
  std::string sampling_in_words() const override;
  void refresh() override;
  std::vector<ValueType> types() const override;

  void search();
  void try_to_watch(const Key& key);
  void watch(const Key& key);
  void take(Watched& watched, const GoHeap& heap);
  void read_again(Watched& watched);
  void see_ends();
  void end(Watched& watched);

  Others others_are_;
  std::vector<Watched> watched_;   // also those that have ended: their sums stay
  std::map<Key, size_t> current_;  // into watched_, of those that have not
  std::map<Key, Other> others_;    // that still run
  std::deque<Key> due_;            // to be tried, one at a step
  uint64_t last_key_ = uint64_t{1} << 63;
  uint64_t next_search_ns_ = 0;
  uint64_t unread_ = 0;
};

}  // namespace memflame
