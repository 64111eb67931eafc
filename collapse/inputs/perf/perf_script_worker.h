// SPDX-License-Identifier: BSD-2-Clause
// One thread that reads blocks of `perf script`. Lines and stacks repeat, so a line is parsed only
// when it is new: the hash of its bytes finds its frame, and the hash of a stack's frames finds its
// row of values. Samples repeat, too: the hash of all lines but the first, together with the frame
// of the first, finds the row of a sample that has been parsed before. (The first line is the leaf,
// whose address differs most often.) Such samples wait until there are a few of them, while the
// memory of the tables for them is being fetched. All threads share the tables.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collapse/inputs/perf/perf_script_net.h"
#include "collapse/inputs/perf/perf_script_tables.h"
#include "collapse/inputs/readers.h"
#include "collapse/text/blocks.h"
#include "collapse/text/issues.h"
#include "core/hash.h"

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
  // A sample of which only the header is read. The result of finding its row or of reading its
  // lines is the same, but later.
  struct PutOff {
    std::string_view text;    // the lines of its frames
    Hash128 first{}, rest{};  // of the first line, and of those behind
    uint32_t leaf = 0;        // the frame of the first line; 0 if it is not known
    Hash128 sample{};         // if it is: what PerfTables::samples() has it by
    uint32_t event = 0, root = 0;
    int64_t weight = 0;
    size_t line = 0, lines = 0;  // the number of its header; how many lines follow
  };

  // perf_script_repeats.cc
  size_t put_off(std::string_view text, const char* first_end);
  void take_put_off();
  void take_lines(const PutOff& sample);
  static Hash128 sample_hash(const PutOff& sample, uint32_t leaf);
  std::optional<Hash128> repeated_sample() const;

  void take_line(std::string_view line);
  void take_frame(std::string_view line, const Hash128& hash);
  void take_pending();
  void begin(std::string_view line);
  void begin(const PerfHeader& header);
  void end();
  void add_sample(uint32_t row);
  void add(uint32_t row, int64_t value);
  void subtract(uint32_t row, int64_t value);
  [[noreturn]] static void fail_sum();
  uint32_t learn(std::string_view line, const Hash128& hash);
  uint32_t learn_frame(const PerfFrame& frame, const Hash128* line = nullptr);
  uint32_t push_inlined(const PerfFrame& frame);
  bool skip_record(std::string_view line);
  void take_comment(std::string_view line);
  Event& event_of(std::string_view name);
  uint32_t root_of(const PerfHeader& header);
  void free_block(const PerfBlockEvent& block, const Event& event, std::optional<int64_t> weight);

  PerfTables& tables_;
  const ReadOptions& options_;

  std::string last_root_;  // the name of the frame below
  uint32_t last_root_frame_ = 0;
  std::map<std::string, size_t, std::less<>> event_numbers_;
  size_t last_event_ = SIZE_MAX;

  // Lines of the sample; the memory of the tables for them is being fetched.
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

  std::array<PutOff, 8> put_off_;
  size_t put_off_count_ = 0;
  // The sample that was put off and is being read: its row is to be remembered if all its lines are
  // frames.
  const PutOff* repeatable_ = nullptr;
  // False for the rest of a block in which samples end otherwise than with "\n\n".
  bool even_ = true;

  PerfPlace at_;
  Issues issues_;
};

}  // namespace memflame
