// SPDX-License-Identifier: BSD-2-Clause
#include "tests/collapse/select/made_run.h"

#include "core/error.h"

namespace memflame {

MadeRun::MadeRun() {
  recording.frames.emplace_back();
  space(812, "server");
  thread(812, "server");
}

RawStackId MadeRun::stack(std::initializer_list<const char*> functions, SpaceId in,
                          const std::string& module) {
  RawStack& stack = recording.stacks.emplace_back();
  stack.space = in;
  recording.frames.resize(recording.stacks.size());
  for (const char* function : functions) {
    const std::string name = function;
    const auto location = static_cast<uint32_t>(recording.locations.size());
    recording.locations.emplace_back().symbols = {
        {.function = name, .file = "src/" + name + ".cc", .module = module}};
    stack.pcs.insert(stack.pcs.begin(), {4096 + location, !stack.pcs.empty()});
    auto& frames = recording.frames.back();
    frames.insert(frames.begin(), LocationId{location});
  }
  return RawStackId{static_cast<uint32_t>(recording.stacks.size() - 1)};
}

SpaceId MadeRun::space(uint32_t pid, const std::string& comm) {
  Space& space = recording.spaces.emplace_back();
  space.pid = pid;
  space.comm = comm;
  return SpaceId{static_cast<uint32_t>(recording.spaces.size() - 1)};
}

ThreadId MadeRun::thread(uint32_t tid, const std::string& name) {
  threads.push_back({.space = SpaceId{1}, .tid = tid, .name = name});
  return ThreadId{static_cast<uint32_t>(threads.size() - 1)};
}

void MadeRun::add_chain(std::vector<Block> chain) {
  for (size_t i = 0; i < chain.size(); ++i) {
    Block& block = chain[i];
    block.number = static_cast<BlockNumber>(blocks.size() + i + 1);
    block.first = chain.front().number;
    block.position = static_cast<uint32_t>(i + 1);
    block.moved = i + 1 < chain.size();
    if (block.moved) block.freed_ns = chain[i + 1].allocated_ns;
    if (block.end_ns == 0) block.end_ns = block.leaked() ? end_ns : block.freed_ns;
  }
  const Chain whole{.length = static_cast<uint32_t>(chain.size()),
                    .allocated_ns = chain.front().allocated_ns,
                    .end_ns = chain.back().end_ns,
                    .first_size = chain.front().size,
                    .last_size = chain.back().size,
                    .leaked = chain.back().leaked()};
  for (const Block& block : chain) blocks.emplace_back(block, whole);
}

void MadeRun::for_each_block(const VisitBlock& visit) {
  ++passes;
  for (const auto& [block, chain] : blocks) visit(block, chain);
}

std::vector<int> MadeRun::selected(const Query& query) {
  const Selection selection = selection_of(query, *this);
  std::vector<int> numbers;
  for (const auto& [block, chain] : blocks)
    if (selection(block, chain)) numbers.push_back(static_cast<int>(block.number));
  return numbers;
}

std::vector<int> MadeRun::selected(const std::string& where, const std::vector<std::string>& lets) {
  Query query;
  for (const std::string& let : lets) add_let(query, "--let", let);
  add_where(query, "--where", where);
  return selected(query);
}

std::string refusal(const std::string& where, const std::vector<std::string>& lets) {
  try {
    MadeRun().selected(where, lets);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace memflame
