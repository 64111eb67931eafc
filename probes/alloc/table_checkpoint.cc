// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/table_checkpoint.h"

#include <utility>

namespace memflame {

void TableCheckpoint::begin(uint64_t now_ns) {
  stop();
  stage_ = Stage::following;
  begun_ns_ = now_ns;
}

void TableCheckpoint::stop() {
  stage_ = Stage::idle;
  read_ = {};
  begun_ = {};
  ended_ = {};
}

TableCheckpoint::Table TableCheckpoint::to_read(uint64_t handled_ns) const {
  if (stage_ == Stage::following) return Table::blocks;
  const bool is_due = stage_ == Stage::has_blocks && handled_ns >= since_ns_ + slack_ns;
  return is_due ? Table::moving : Table::none;
}

void TableCheckpoint::add(const LiveBlock& block, SpaceId space) {
  read_.try_emplace(block.block, Entry{block, space});
}

void TableCheckpoint::has_read(uint64_t now_ns) {
  stage_ = stage_ == Stage::following ? Stage::has_blocks : Stage::complete;
  since_ns_ = now_ns;
}

void TableCheckpoint::began(const LiveBlock& block) { begun_.insert_or_assign(block.block, block); }

void TableCheckpoint::ended(BlockNumber block) {
  begun_.erase(block);
  ended_.insert(block);
}

std::vector<LiveBlock> TableCheckpoint::take(const IsGone& is_gone) {
  std::vector<LiveBlock> blocks;
  for (const auto& [number, entry] : read_) {
    if (ended_.contains(number) || begun_.contains(number)) continue;
    // Its event is still to come.
    if (entry.block.allocated_ns >= begun_ns_) continue;
    if (!is_gone(entry.block, entry.space)) blocks.push_back(entry.block);
  }
  for (const auto& [number, block] : begun_)
    if (!is_gone(block, SpaceId{})) blocks.push_back(block);
  stop();
  return blocks;
}

}  // namespace memflame
