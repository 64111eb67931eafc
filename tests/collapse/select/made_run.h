// SPDX-License-Identifier: BSD-2-Clause
// A run made by hand: blocks in memory, with stacks that have names.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "collapse/select/block_source.h"
#include "collapse/select/parse.h"
#include "collapse/select/selection.h"

namespace memflame {

class MadeRun : public BlockSource {
 public:
  MadeRun();

  // Functions from the caller to the innermost one, in `module`, from "<function>.cc".
  RawStackId stack(std::initializer_list<const char*> functions, SpaceId space = SpaceId{1},
                   const std::string& module = "/usr/bin/server");
  SpaceId space(uint32_t pid, const std::string& comm);
  ThreadId thread(uint32_t tid, const std::string& name);

  // A chain of blocks, each freed when the next is allocated; what they leave out is filled in:
  // numbers, positions, ends.
  void add_chain(std::vector<Block> chain);
  void add(const Block& block) { add_chain({block}); }

  RunFacts facts() const override {
    return {.recording = recording, .threads = threads, .marks = marks, .end_ns = end_ns};
  }
  bool has_addresses() override { return addresses; }
  bool has_free_stacks() override { return free_stacks; }
  void for_each_block(const VisitBlock& visit) override;

  // Numbers (as BlockNumber) of the blocks that are selected.
  std::vector<int> selected(const std::string& where, const std::vector<std::string>& lets = {});
  std::vector<int> selected(const Query& query);

  Recording recording;
  std::vector<Thread> threads{Thread{}};
  std::vector<Mark> marks;
  std::vector<std::pair<Block, Chain>> blocks;
  uint64_t end_ns = 100'000'000'000;
  bool addresses = true, free_stacks = true;  // are recorded
  int passes = 0;
};

inline constexpr uint64_t seconds_ns = 1'000'000'000;

// What an expression is refused with; "" if it is not.
std::string refusal(const std::string& where, const std::vector<std::string>& lets = {});

}  // namespace memflame
