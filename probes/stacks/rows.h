// SPDX-License-Identifier: BSD-2-Clause
// Where a probe's figures go. Probes know stacks by their keys; whoever takes the figures turns
// keys into stacks.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/recording.h"
#include "probes/stacks/stack_log.h"

namespace memflame {

class Rows {
 public:
  // The log must outlive this object.
  explicit Rows(const StackLog& log) : log_(log) {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  virtual ~Rows() = default;

  // Adds figures to a stack, in the order of the recording's types. The group is drawn below the
  // stack, the leaf is its last frame (RawStack::leaf).
  virtual void add(uint64_t key, const std::string& group, const std::vector<int64_t>& values,
                   int64_t events, const std::string& leaf = "") = 0;

  const StackLog& log() const { return log_; }

 private:
  const StackLog& log_;
};

// The rows of a recording while it is made.
class RecordingRows : public Rows {
 public:
  // Both must outlive this object.
  RecordingRows(Recording& recording, const StackLog& log) : Rows(log), recording_(recording) {}

  void add(uint64_t key, const std::string& group, const std::vector<int64_t>& values,
           int64_t events, const std::string& leaf = "") override;
  // The row of a stack, or of what stands in for one; made if missing.
  RawStackId stack(uint64_t key);

  Recording& recording() { return recording_; }

 private:
  Recording& recording_;
  std::unordered_map<uint64_t, RawStackId> stacks_;  // by the key that all copies share
};

}  // namespace memflame
