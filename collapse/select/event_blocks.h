// SPDX-License-Identifier: BSD-2-Clause
// The blocks of a recording with events, read from its file as often as they are asked for.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "collapse/events/block_fold.h"
#include "collapse/history/event_file.h"
#include "collapse/select/block_source.h"

namespace memflame {

class EventBlocks : public BlockSource {
 public:
  // Both outlive this object. Reads the end of the events once. Throws Error if the file cannot be
  // read.
  EventBlocks(const EventFile& file, const History& history);

  RunFacts facts() const override;
  // These two read the whole file, the first time.
  bool has_addresses() override;
  bool has_free_stacks() override;
  // Several threads may call this at once.
  void for_each_block(const VisitBlock& visit) override;
  // Not after gaps, or when a realloc failed.
  bool for_each_change(const VisitChange& visit) override;

  // What the last reading says of the recording: gaps, damage, contradictions.
  std::vector<std::string> notes() const;

 private:
  void examine();

  const EventFile& file_;
  const History& history_;
  uint64_t end_ns_ = 0;
  std::mutex mutex_;  // of the next two
  EventsEnd end_;
  FoldCounts counts_;
  bool is_examined_ = false, has_addresses_ = false, has_free_stacks_ = false;
};

}  // namespace memflame
