// SPDX-License-Identifier: BSD-2-Clause
// Rows, code lists and stacks as a hostile program or a damaged file may bring them about, chosen
// by any source of numbers. The agent must neither crash nor read outside of the stack (its ends
// are unreadable), and a stack that was told by what differs must be that of a full walk.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "probes/inside/agent/rules.h"
#include "probes/inside/agent/walk.h"
#include "tests/probes/inside/agent/fake_process.h"

namespace memflame::inside {

class Hostile {
 public:
  // A number below that; 0 when there are no more.
  using Below = std::function<uint64_t(uint64_t)>;

  Hostile(FakeProcess& process, Below below) : process_(process), below_(std::move(below)) {}

  // One list, and some stacks. Aborts if a record is not what a full walk finds.
  void run() {
    process_.shared().answered = below_(4) == 0 ? 0 : INT32_MAX;
    process_.control().max_depth =
        below_(8) == 0 ? static_cast<uint32_t>(number()) : static_cast<uint32_t>(1 + below_(600));
    fill_code();
    for (uint64_t i = 0, words = below_(64); i < words; ++i) change_word();
    frames_.clear();
    process_.thread().frame_count = 0;
    for (uint64_t i = 0, stacks = 1 + below_(24); i < stacks; ++i) {
      if (below_(16) == 0) forget_code();
      for (uint64_t k = 0, words = below_(3); k < words; ++k) change_word();
      one_stack();
    }
  }

  // Records so far that ended for this reason, and frames that they kept.
  uint64_t stops(uint32_t reason) const { return stops_.at(reason); }
  uint64_t reused() const { return reused_; }

 private:
  static constexpr uint64_t code_at = 0x401000, code_bytes = 1024;

  // Mostly small, sometimes anything.
  uint64_t number() {
    const uint64_t kind = below_(8);
    const uint64_t bits = kind == 0 ? 63 : kind < 4 ? 16 : 6;
    return below_(uint64_t{1} << bits) * (kind == 0 && below_(2) != 0 ? 2 : 1);
  }
  uint64_t code_address() { return code_at + below_(code_bytes + 64) - 32; }
  uint64_t stack_address() {
    const uint64_t offset = below_(4) == 0 ? FakeStack::bytes - 8 * below_(16) : 8 * below_(512);
    return process_.stack().low() + offset + (below_(32) == 0 ? below_(8) : 0) -
           (below_(32) == 0 ? below_(FakeStack::guard_bytes) : 0);
  }
  uint64_t word() {
    switch (below_(12)) {
      case 0:
        return 0;
      case 1:
        return number();
      case 2:
      case 3:
        return stack_address();
      default:
        return code_address();
    }
  }
  void change_word() {
    const uint64_t offset = 8 * below_(below_(4) == 0 ? FakeStack::bytes / 8 : 512);
    process_.stack().at(process_.stack().low() + offset) = word();
  }

  // Most rows are those of compiled code, so that many stacks come to their end.
  uint64_t kind() {
    switch (below_(8)) {
      case 0:
        return number();
      case 1:
        return 1 + below_(12);
      case 2:
        return unwind::row_end;
      case 3:
        return unwind::row_rbp;
      default:
        return unwind::row_rsp;
    }
  }

  void fill_code() {
    std::vector<unwind::row> rows(below_(64));
    for (size_t i = 0; i < rows.size(); ++i) {
      unwind::row& row = rows[i];
      row.pc = static_cast<uint32_t>(below_(8) == 0 ? number() : i * 16);
      row.cfa = static_cast<uint16_t>(below_(4) == 0 ? number() : 1 + below_(6));
      row.kind = static_cast<uint8_t>(kind());
      row.rbp = static_cast<uint8_t>(below_(4) == 0 ? number() : below_(4));
    }
    std::vector<CodeRange> list(1 + below_(6));
    for (size_t i = 0; i < list.size(); ++i) {
      CodeRange& range = list[i];
      const uint64_t each = code_bytes / list.size();
      range.start = below_(8) == 0 ? number() : code_at + i * each;
      range.end = below_(8) == 0 ? number() : code_at + (i + 1) * each;
      range.base = below_(8) == 0 ? number() : code_at;
      range.first_row = static_cast<uint32_t>(below_(8) == 0 ? number() : 0);
      range.rows = static_cast<uint32_t>(below_(4) == 0 ? number() : rows.size());
    }
    process_.publish(list, std::move(rows));
    if (below_(8) == 0) process_.set_list(number() | number() << 32);
  }

  void one_stack() {
    // Often the one before, or one of its callers.
    if (below_(3) != 0) {
      caller_ = {code_address(), below_(8) == 0 ? word() : stack_address(), word()};
    } else if (below_(2) == 0 && process_.thread().frame_count != 0) {
      const KeptFrame& frame = process_.thread().kept[below_(process_.thread().frame_count)];
      caller_ = {frame.ip, frame.sp, below_(4) == 0 ? word() : frame.bp};
    }
    const Caller& caller = caller_;
    // record_alloc() publishes what walk() found; the second walk keeps nothing of others.
    record_alloc(&process_.thread(), &process_, below_(1 << 20), fn_malloc, caller);
    const std::vector<uint64_t> words = process_.taken();
    if (words.size() < 3) std::abort();
    const Alloc alloc = alloc_of(words[0], words[1], words[2]);
    if (words.size() != 3 + alloc.pushed || alloc.kept > frames_.size()) std::abort();
    ++stops_.at(alloc.stop);
    reused_ += alloc.kept;
    frames_.resize(alloc.kept);
    for (size_t i = words.size(); i-- > 3;) frames_.push_back(words[i]);
    compare(caller, alloc);
  }

  void compare(const Caller& caller, const Alloc& alloc) {
    const Walk full = walk(*other_, caller, process_.control().max_depth);
    other_->frame_count = 0;
    if (full.kept_frames != 0 || full.stop != alloc.stop || full.fresh_frames != frames_.size())
      std::abort();
    for (size_t i = 0; i < frames_.size(); ++i) {
      const FreshFrame& fresh = other_->fresh[frames_.size() - 1 - i];
      if (frames_[i] != (fresh.ip | (fresh.is_exact != 0 ? exact_bit : 0))) std::abort();
    }
  }

  FakeProcess& process_;
  std::array<uint64_t, 32> stops_{};
  uint64_t reused_ = 0;
  Below below_;
  Caller caller_{};
  std::vector<uint64_t> frames_;  // of the last record, outermost first, as its reader knows them
  std::unique_ptr<Thread> other_ = process_.new_thread();
};

}  // namespace memflame::inside
