// SPDX-License-Identifier: BSD-2-Clause
// The leak checks of valgrind's memcheck, for the readers of its text and of its XML.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/inputs/readers.h"
#include "core/profile.h"

namespace memflame {

struct LeakKind {
  std::string_view column;  // its bytes; its blocks are in "<column>_blocks"
  std::string_view text;    // as memcheck names it
  std::string_view xml;     // the same in XML
};

inline constexpr std::array<LeakKind, 4> leak_kinds{
    {{"definitely", "definitely lost", "Leak_DefinitelyLost"},
     {"indirectly", "indirectly lost", "Leak_IndirectlyLost"},
     {"possibly", "possibly lost", "Leak_PossiblyLost"},
     {"reachable", "still reachable", "Leak_StillReachable"}}};

// Blocks of one kind that were allocated by one stack. Blocks that only they point to are a record
// of their own ("indirectly lost"), so `bytes` is without them.
struct LossRecord {
  size_t kind = 0;  // in leak_kinds
  int64_t bytes = 0, blocks = 0;
  int64_t with_indirect = 0;  // bytes, and those of blocks that only they point to
  uint64_t number = 0;        // in its check, from 1
};

// "160 (32 direct, 128 indirect) bytes in 1 blocks are definitely lost in loss record 2 of 5"; a
// check of what has changed has "(+32)" behind numbers. Throws Error beyond 64 bits.
std::optional<LossRecord> parse_loss_record(std::string_view text);

struct LeakSum {
  int64_t bytes = 0, blocks = 0;
};

// "definitely lost: 1,056 bytes in 2 blocks", with any kind before the colon.
std::optional<LeakSum> parse_leak_sum(std::string_view text, std::string_view kind);

// A process may be checked several times, each time in full. Chooses checks as
// ReadOptions::snapshot says, by their number in their process from 1.
class LeakChecks {
 public:
  LeakChecks(Profile& profile, const ReadOptions& options);

  void add(std::string_view pid, const LossRecord& record, StackId stack);
  // To be called when the summary begins, or memcheck says that there are no leaks.
  void end(std::string_view pid);
  // Lines of the summary.
  void state(std::string_view pid, size_t kind, const LeakSum& sum);
  void state_suppressed(std::string_view pid, const LeakSum& sum);

  // Whether some process has a check without a summary.
  bool any_open() const;
  bool any() const { return !processes_.empty(); }

  // Adds the chosen checks to the profile, with notes. Returns why there is nothing to add, to
  // complete a message; "" if there is.
  std::string finish();

 private:
  using Sums = std::array<LeakSum, leak_kinds.size()>;
  struct Row {
    StackId stack;
    size_t kind = 0;
    LeakSum size;
  };
  struct Check {
    uint64_t number = 0;  // in its process, from 1
    std::vector<Row> rows{};
    Sums told{};                    // by the rows
    std::optional<Sums> summary{};  // what memcheck states
    LeakSum suppressed{};
  };
  struct Process {
    Check now;                           // the last one that has begun
    bool is_open = false;                // it may have further records
    uint64_t last_record = 0;            // of it
    std::optional<Check> first, second;  // those that are asked for
  };

  void begin(Process& process) const;
  void keep(Process& process) const;
  void add(const Check& check, int64_t sign);
  void describe();

  Profile& profile_;
  const ReadOptions& options_;
  std::map<std::string, Process, std::less<>> processes_;  // by pid
  Sums told_{}, stated_{};  // of the chosen checks that have a summary
  LeakSum suppressed_;
};

}  // namespace memflame
