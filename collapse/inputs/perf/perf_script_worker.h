// SPDX-License-Identifier: BSD-2-Clause
// One thread that reads blocks of `perf script`. Lines and stacks repeat, so a line is parsed only
// when it is new: the hash of its bytes finds its frame, and the hash of a stack's frames finds its
// row of values. The tables that all threads share are locked for new frames and stacks only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collapse/blocks.h"
#include "collapse/input.h"
#include "collapse/inputs/perf/perf_script_net.h"
#include "collapse/inputs/perf/perf_script_tables.h"
#include "collapse/issues.h"
#include "core/hash_cache.h"

namespace memflame {

// A place in the input: the block, and the line in it from 1.
using PerfPlace = std::pair<size_t, size_t>;

class PerfWorker {
 public:
  PerfWorker(PerfTables& tables, const ReadOptions& options) : tables_(tables), options_(options) {}

  // False if an error ends the reading; see failure. `open`: the input ends with this block in the
  // middle of a sample.
  bool take(const InputBlock& block, bool open);

  struct Failure {
    PerfPlace place;
    std::string what;
  };
  struct Event {
    std::string name;
    uint32_t number = 0;  // in the tables
    bool wanted = true;
    PerfWeight weight{};
    uint64_t samples = 0, without_period = 0, without_field = 0;
    bool scaled = false;  // one sample stood for several events
    PerfPlace first{};
  };

  // The results; read them when the thread is done.
  std::optional<Failure> failure;
  std::vector<std::pair<size_t, size_t>> lines;   // block and its lines
  std::vector<std::pair<size_t, Issues>> issues;  // by block, only where there are any
  std::vector<Event> events;
  std::vector<int64_t> sums;  // by row of the tables
  struct Sample {
    uint32_t row = 0;
    int64_t value = 0;
  };
  std::vector<Sample> sequence;  // only with ReadOptions::in_order: the parts of the sums
  uint64_t samples = 0;          // wanted or not
  uint64_t lost = 0;             // as reported by perf
  uint64_t free_misses = 0;
  int64_t free_miss_bytes = 0;
  std::optional<PerfPlace> truncated;
  std::string command, host;  // from the comments that `perf script --header` prints
  PerfNet net;

 private:
  void take_line(std::string_view line);
  void take_frame(std::string_view line, const Hash128& hash);
  void take_pending();
  void begin(std::string_view line);
  void begin(const PerfHeader& header);
  void end();
  void add(uint32_t row, int64_t value);
  void subtract(uint32_t row, int64_t value);
  [[noreturn]] static void fail_sum();
  uint32_t learn(std::string_view line);
  uint32_t learn_frame(const PerfFrame& frame);
  uint32_t push_inlined(const PerfFrame& frame);
  bool skip_record(std::string_view line);
  void take_comment(std::string_view line);
  Event& event_of(std::string_view name);
  uint32_t root_of(const PerfHeader& header);
  void free_block(const PerfBlockEvent& block, const Event& event, std::optional<int64_t> weight);

  PerfTables& tables_;
  const ReadOptions& options_;

  HashCache known_lines_;  // frames
  HashCache known_rows_, known_roots_;
  std::map<std::string, size_t, std::less<>> event_numbers_;
  size_t last_event_ = SIZE_MAX;

  // Lines of the sample; the memory of known_lines_ for them is being fetched.
  struct Pending {
    std::string_view line;
    Hash128 hash;
    size_t number = 0;
  };
  std::array<Pending, 64> pending_;
  size_t pending_count_ = 0;

  // The sample being read.
  bool inside_ = false;
  bool wanted_ = false;
  int64_t weight_ = 0;
  std::vector<uint32_t> key_;  // see PerfTables::row()
  std::optional<PerfBlockEvent> block_;

  PerfPlace at_;
  Issues issues_;
};

}  // namespace memflame
