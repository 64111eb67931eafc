// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/event_blocks.h"

#include "core/units.h"

namespace memflame {
namespace {

struct NoSink : EventSink {
  void events(std::span<const Event>) override {}
  void gap(const EventGap&) override {}
  void checkpoint(const CheckpointPart&) override {}
};

// What the events of a recording have. Those without any allocation, or any free, lack nothing.
struct Examination : EventSink {
  void events(std::span<const Event> events) override {
    for (const Event& event : events) {
      if (event.kind == EventKind::allocation || event.kind == EventKind::move) {
        has_allocations = true;
        has_addresses |= event.address != 0;
      } else if (event.kind == EventKind::free) {
        has_frees = true;
        has_free_stacks |= bool{event.stack};
      }
    }
  }
  void gap(const EventGap&) override {}
  void checkpoint(const CheckpointPart& part) override {
    for (const LiveBlock& block : part.blocks) {
      has_allocations = true;
      has_addresses |= block.address != 0;
    }
  }
  bool has_allocations = false, has_addresses = false;
  bool has_frees = false, has_free_stacks = false;
};

std::string number(uint64_t count) { return with_commas(static_cast<int64_t>(count)); }

}  // namespace

EventBlocks::EventBlocks(const EventFile& file, const History& history)
    : file_(file), history_(history) {
  // From the last checkpoint on, so it is soon done.
  NoSink nothing;
  end_ns_ = file.read(nothing, UINT64_MAX).time_ns;
}

RunFacts EventBlocks::facts() const {
  return {.recording = history_.recording,
          .threads = history_.threads,
          .marks = history_.marks,
          .end_ns = end_ns_,
          .culled = file_.culled().stacks};
}

bool EventBlocks::has_addresses() {
  examine();
  return has_addresses_;
}

bool EventBlocks::has_free_stacks() {
  examine();
  return has_free_stacks_;
}

void EventBlocks::examine() {
  if (is_examined_) return;
  Examination found;
  file_.read(found);
  has_addresses_ = found.has_addresses || !found.has_allocations;
  has_free_stacks_ = found.has_free_stacks || !found.has_frees;
  is_examined_ = true;
}

void EventBlocks::for_each_block(const VisitBlock& visit) {
  // Calls of a thread are missing between those that are left, so none is known to be the next one.
  const bool has_all_calls = file_.culled().below_ns == 0;
  const VisitBlock without_calls = [&](const Block& block, const Chain& chain) {
    Block changed = block;
    changed.transient = false;
    visit(changed, chain);
  };
  BlockFold fold(history_, has_all_calls ? visit : without_calls);
  EventsEnd end = file_.read(fold);
  fold.finish(end.time_ns);
  const std::lock_guard lock(mutex_);
  end_ = std::move(end);
  counts_ = fold.counts();
}

bool EventBlocks::for_each_change(const VisitChange& visit) {
  BlockFold fold(
      history_, [](const Block&, const Chain&) {}, visit);
  static_cast<void>(file_.read(fold));
  return fold.changes_are_exact();
}

std::vector<std::string> EventBlocks::notes() const {
  std::vector<std::string> notes;
  if (!end_.note.empty()) notes.push_back(end_.note);
  if (const CulledBlocks& culled = file_.culled(); culled.below_ns != 0)
    notes.push_back(in_words(culled));
  if (counts_.gaps != 0)
    notes.push_back("events were lost in " + number(counts_.gaps) +
                    (counts_.gaps == 1 ? " gap; " : " gaps; ") + number(counts_.freed_in_gaps) +
                    " blocks were freed in them, " + number(counts_.allocated_in_gaps) +
                    " allocated; what was both is missing here, but not in the totals of a series");
  if (counts_.lost != 0)
    notes.push_back(number(counts_.lost) +
                    " blocks may have been freed in a gap that no checkpoint follows");
  if (counts_.differences() + counts_.contradictions != 0)
    notes.push_back("the recording contradicts itself " +
                    number(counts_.differences() + counts_.contradictions) +
                    " times; its checkpoints were believed");
  return notes;
}

}  // namespace memflame
