// SPDX-License-Identifier: BSD-2-Clause
// The run that the tables of a query are made of.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/select/block_source.h"
#include "core/history.h"
#include "core/profile.h"
#include "core/query_rows.h"

namespace memflame {

// The stacks of a recording with their names, the longest form of each: with inlined functions,
// source lines, and the process as the outermost frame.
struct NamedStacks {
  Profile profile;              // without values
  std::vector<StackId> stacks;  // by RawStackId::index
};

class QueryRun {
 public:
  // Names that are fit for any output, as clean_text() makes them.
  using Clean = std::function<std::string(std::string_view)>;

  // Everything outlives this object. `history` has names (named.h); `blocks` is null if the
  // recording has no events. Reading stops with an Error when `stop` becomes true.
  QueryRun(const History& history, BlockSource* blocks, Clean clean, const std::atomic<bool>& stop)
      : history_(history), blocks_(blocks), clean_(std::move(clean)), stop_(stop) {}

  const History& history() const { return history_; }
  const Recording& recording() const { return history_.recording; }
  BlockSource* blocks() const { return blocks_; }
  const std::atomic<bool>& stop() const { return stop_; }
  std::string clean(std::string_view name) const { return clean_(name); }

  // These are made when they are first asked for.
  const NamedStacks& named();
  // The name of a frame of named(), clean, and without semicolons.
  const std::string& frame_name(FrameId frame);
  // The frames of a stack from the process to the innermost one. None if there is no such stack.
  std::vector<FrameId> path(RawStackId stack);
  // As folded text has it: "server;main;load".
  std::string text(RawStackId stack);
  // The innermost function of the program's own code (stack_labels.h).
  const std::string& label(RawStackId stack);

  // Lines about the recording as a whole.
  struct Fact {
    std::string name;
    QueryValue value;
  };
  const std::vector<Fact>& facts();

 private:
  const History& history_;
  BlockSource* blocks_;
  Clean clean_;
  const std::atomic<bool>& stop_;
  std::optional<NamedStacks> named_;
  std::vector<std::string> frame_names_, labels_;
  std::vector<Fact> facts_;
};

// A number of the recording as SQL has it. Throws Error if it is 2^63 or more, which only a damaged
// recording has.
int64_t query_integer(uint64_t number);

}  // namespace memflame
