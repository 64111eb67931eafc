// SPDX-License-Identifier: BSD-2-Clause
// How the rules of `memflame watch` fare, in memory that the process which starts them shares with
// the one that shows it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace memflame {

struct RuleState {
  // waits: nothing runs for it, until it is tried again.
  enum class Kind : uint8_t { waits, runs, given_up, too_dear };
  Kind kind = Kind::waits;
  uint64_t starts = 0;
  double processor_seconds = 0;  // of its processes, since memflame began
  uint64_t memory_bytes = 0;     // its process's own, and its tables in the kernel
  uint64_t unwatched = 0;        // processes that it names, and whose heap nobody watches
  uint64_t lost_events = 0;      // since memflame began, also those of no window
};

class RuleBoard {
 public:
  // Make it before the processes that share it are forked. Throws Error.
  RuleBoard();
  ~RuleBoard();
  RuleBoard(const RuleBoard&) = delete;
  RuleBoard& operator=(const RuleBoard&) = delete;

  // One process may write. Rules beyond the room are left out.
  static constexpr size_t room = 256;
  // `budget_share`: the part of their budgets that rules may use, because of what the host may
  // spend.
  void show(const std::map<std::string, RuleState>& rules, double budget_share);
  std::map<std::string, RuleState> read() const;
  double budget_share() const { return page_->budget_share.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t name_bytes = 65;
  struct Row {
    std::array<char, name_bytes> name{};
    RuleState state;
  };
  struct Page {
    std::atomic<uint64_t> version;  // odd while it is being written
    std::atomic<double> budget_share = 1;
    size_t rows = 0;
    std::array<Row, room> row;
  };
  Page* page_ = nullptr;
};

}  // namespace memflame
