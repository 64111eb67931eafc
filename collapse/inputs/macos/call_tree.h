// SPDX-License-Identifier: BSD-2-Clause
// Call trees as tools of macOS print them: how deep a line is says what is below it, and its
// figures include those of the lines below it.
//
//     2569 Thread_1447670                                        sample
//     + 2569 start  (in dyld) + 13  [0x7fff8a477fb9]
//     10 (1.41K) << TOTAL >>                                     leaks, malloc_history
//       1 (144 bytes) ROOT LEAK: 0x7fb213463680 [144]
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/stack.h"

namespace memflame {

struct PrintedSize {
  int64_t bytes = 0;
  int64_t unit = 1;  // of the last digit: "1.41K" is a multiple of 1 % of a K, rounded up
};

struct TreeLine {
  size_t indent = 0;
  int64_t count = 0;
  std::optional<PrintedSize> size;
  std::string_view text;
};

inline constexpr std::string_view graph_head = "Call graph:", tree_total = "<< TOTAL >>";

// None if the line does not have this form. Throws Error if a number does not fit in 64 bits.
std::optional<TreeLine> parse_tree_line(std::string_view line);

// Takes inclusive figures, line by line, and hands out those of each stack alone.
class CallTree {
 public:
  struct Node {
    StackId stack;
    int64_t count = 0, bytes = 0;  // with what is below it
    int64_t each = -1;             // the exact size of each of its own blocks; -1 if unknown
    int64_t unit = 1;              // PrintedSize::unit
  };
  using Own = std::function<void(StackId, int64_t count, int64_t bytes)>;

  explicit CallTree(Own own) : own_(std::move(own)) {}

  // The stack of the line that one of this depth would be below of, after the lines beside and
  // below it are ended.
  std::optional<StackId> caller(size_t indent);
  // To be called after caller() with the same depth.
  void add(size_t indent, const Node& node);
  void end();
  bool empty() const { return open_.empty(); }

  // Lines whose own count is less than that of the lines below them.
  uint64_t contradictions() const { return contradictions_; }
  bool rounded() const { return rounded_; }  // some figure that was handed out

 private:
  struct Open {
    size_t indent = 0;
    Node node;
    int64_t count = 0, bytes = 0;  // of the lines below it
  };
  void close();
  int64_t own_bytes(const Open& open, int64_t count);

  Own own_;
  std::vector<Open> open_;
  uint64_t contradictions_ = 0;
  bool rounded_ = false;
};

}  // namespace memflame
