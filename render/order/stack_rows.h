// SPDX-License-Identifier: BSD-2-Clause
// The stacks of a profile as text and numbers, for the outputs that list them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"

namespace memflame {

// The part that walks through the stacks share; several walks, on several threads, may use one. It
// takes 12 bytes per stack.
class StackOrder {
 public:
  // `names` is by FrameId::index; both must outlive this.
  StackOrder(const Profile& profile, std::span<const std::string_view> names, unsigned threads = 1);

  // How many stacks there are, including the one without a frame.
  size_t size() const { return first_.size() - 1; }

 private:
  friend class StackRows;

  void list_callees();
  void weigh();

  const Profile& profile_;
  const std::span<const std::string_view> names_;
  std::vector<uint32_t> ranks_;  // places of the names among all, by FrameId::index
  std::vector<bool> touched_;    // whether it has values, by StackId::index
  // callees_[first_[n], first_[n + 1]) are the callees of stack n.
  std::vector<uint32_t> first_, callees_;
  std::vector<uint32_t> weights_;  // how many stacks begin with this one, itself among them
};

// Walks through the stacks that have values, in the order of their frames' names, compared
// bytewise frame by frame. Stacks that read the same are one row.
class StackRows {
 public:
  StackRows(const Profile& profile, std::span<const std::string_view> names, char separator)
      : StackRows(std::make_shared<const StackOrder>(profile, names), separator) {}
  StackRows(std::shared_ptr<const StackOrder> order, char separator);

  // The next row; false after the last. Throws Error if a sum does not fit in 64 bits.
  bool next() { return next_in(0, SIZE_MAX); }

  // The next row whose stack is at places `begin` to `end` - 1 in the order; there are
  // StackOrder::size() places. Callers ask for ranges from front to back.
  bool next_in(size_t begin, size_t end);

  std::string_view path() const { return path_; }              // names, root first
  std::span<const int64_t> values() const { return values_; }  // one per column
  size_t depth() const { return ends_.size(); }
  size_t kept() const { return kept_; }  // frames in common with the row before

  // The stacks of the profile that read like the first `depth` frames of the row.
  std::span<const StackId> stacks(size_t depth) const;

 private:
  struct Pending {
    StackId stack;
    uint32_t depth = 0;
  };

  uint32_t rank(StackId stack) const { return order_->ranks_[frame(stack).index]; }
  FrameId frame(StackId stack) const { return order_->profile_.stacks[stack].frame; }
  std::span<const Pending> upcoming() const;
  void list_pending(size_t depth);
  void skip();
  void enter();
  bool take_values();

  const std::shared_ptr<const StackOrder> order_;
  const char separator_;
  std::vector<Pending> pending_;    // the next one is at the end
  std::vector<StackId> levels_;     // stacks of the path, of all depths
  std::vector<size_t> level_ends_;  // where those of each depth end
  std::vector<size_t> ends_;        // of the names in the path
  std::string path_;
  std::vector<int64_t> values_;
  size_t kept_ = 0;
  size_t place_ = 0;  // of what comes next, in the order
};

}  // namespace memflame
