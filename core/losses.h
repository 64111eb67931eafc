// Everything that was not captured, not attributed or not named, by cause. A loss is never an
// error: the run goes on, the counter is printed, and lost bytes stay visible in the picture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace memflame {

enum class Loss : uint8_t {
  live_table_full,
  stack_table_full,
  ring_full,
  process_table_full,
  state_unavailable,
  out_pointer_unread,
  calls_abandoned,
  free_miss,
  pools_cut,
  truncated_no_frame_pointer,
  truncated_not_code,
  truncated_too_deep,
  truncated_unreadable,
  truncated_no_mapping,
  truncated_no_table,
  truncated_bad_row,
  truncated_backwards,
  truncated_copy_ended,
  unknown_symbol,
  unmapped_address,
  mapping_records_lost,
  probe_recursion,
  late_attach,
  unwind_table_full,
  code_list_full,
  input_line,
  replaced_bytes,
  count_,
};

struct LossInfo {
  std::string_view name;   // key in --summary
  std::string_view label;  // in `[lost: …]`, `[truncated: …]` and on stderr
  // False for what is expected in a healthy run and takes nothing from the totals: it is reported,
  // but --strict does not fail on it.
  bool counts_as_loss;
};

inline constexpr std::array<LossInfo, static_cast<size_t>(Loss::count_)> loss_info{{
    {"live_table_full", "live table full", true},
    {"stack_table_full", "stack table full", true},
    {"ring_full", "ring buffer full", true},
    {"process_table_full", "process table full", true},
    {"state_unavailable", "no buffer to take the stack in", true},
    {"out_pointer_unread", "result pointer could not be read", true},
    {"calls_abandoned", "calls left without returning", true},
    {"free_miss", "frees of blocks not seen to be allocated", false},
    {"pools_cut", "pools of which not all blocks could be followed", true},
    {"truncated_no_frame_pointer", "no frame pointer", false},
    {"truncated_not_code", "return address is not code", false},
    {"truncated_too_deep", "too deep", false},
    {"truncated_unreadable", "stack memory not readable", false},
    {"truncated_no_mapping", "no known code", false},
    {"truncated_no_table", "no unwind table yet", false},
    {"truncated_bad_row", "unwind information beyond rsp and rbp", false},
    {"truncated_backwards", "frames out of order", false},
    {"truncated_copy_ended", "end of the copy", false},
    {"unknown_symbol", "addresses without a symbol", false},
    {"unmapped_address", "addresses in no known mapping", false},
    {"mapping_records_lost", "mapping records lost", true},
    {"probe_recursion", "probe hits skipped by the kernel", true},
    {"late_attach", "allocator files probed after they were mapped", true},
    {"unwind_table_full", "files without room for their unwind tables: see --max-table", true},
    {"code_list_full", "processes without room for their list of code", true},
    {"input_line", "input lines or records not understood", true},
    {"replaced_bytes", "bytes replaced that are not valid text", false},
}};

struct LossCount {
  uint64_t events = 0;
  int64_t bytes = 0;
};

// Sums stop at the largest number: what an input says of its losses ends no run.
class Losses {
 public:
  void add(Loss loss, uint64_t events, int64_t bytes = 0) {
    LossCount& count = counts_[static_cast<size_t>(loss)];
    add_to(count.events, events);
    add_to(count.bytes, bytes);
  }
  void add(const Losses& other) {
    for (size_t i = 0; i < counts_.size(); ++i)
      add(static_cast<Loss>(i), other.counts_[i].events, other.counts_[i].bytes);
  }
  const LossCount& operator[](Loss loss) const { return counts_[static_cast<size_t>(loss)]; }

  // Events of all causes that take something from the totals or the names (see LossInfo).
  uint64_t lost_events() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < counts_.size(); ++i)
      if (loss_info[i].counts_as_loss) add_to(sum, counts_[i].events);
    return sum;
  }
  int64_t lost_bytes() const {
    int64_t sum = 0;
    for (size_t i = 0; i < counts_.size(); ++i)
      if (loss_info[i].counts_as_loss) add_to(sum, counts_[i].bytes);
    return sum;
  }

 private:
  template <class Number>
  static void add_to(Number& sum, Number more) {
    if (__builtin_add_overflow(sum, more, &sum))
      sum = more > 0 ? std::numeric_limits<Number>::max() : std::numeric_limits<Number>::min();
  }

  std::array<LossCount, static_cast<size_t>(Loss::count_)> counts_{};
};

inline const LossInfo& info(Loss loss) { return loss_info[static_cast<size_t>(loss)]; }

}  // namespace memflame
