// SPDX-License-Identifier: BSD-2-Clause
// The tree of one massif snapshot, read line by line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collapse/inputs/heap/valgrind_label.h"
#include "collapse/inputs/readers.h"
#include "collapse/text/issues.h"
#include "core/profile.h"

namespace memflame {

// What is not understood is added to the issues. All three arguments must outlive this.
class MassifTree {
 public:
  using Row = std::pair<StackId, int64_t>;  // a stack and its self value

  MassifTree(Profile& profile, Issues& issues, const ReadOptions& options)
      : profile_(profile), issues_(issues), options_(options) {}

  // " n2: 4096 LABEL". Throws Error if a number does not fit in 64 bits.
  void take(std::string_view line, size_t number);

  // Ends the tree. The values add up to the root's, whatever is missing.
  std::vector<Row> finish();

  int64_t sum() const { return sum_; }  // of its root
  // What allocated the memory: "(heap allocation functions) malloc/…".
  const std::string& allocated_by() const { return allocated_by_; }

 private:
  struct Node {
    ValgrindFrame frame;  // none for the allocation functions
    int64_t children = 0, rest = 0;
    size_t line = 0;
  };

  void open(Node node, size_t depth, std::string_view label);
  void close_down_to(size_t depth);
  ValgrindFrame frame(std::string_view label);
  StackId stack();

  Profile& profile_;
  Issues& issues_;
  const ReadOptions& options_;
  std::vector<Node> open_;
  std::vector<Row> rows_;
  std::string allocated_by_;
  int64_t sum_ = 0;
  bool begun_ = false;
};

}  // namespace memflame
