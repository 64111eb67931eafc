// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/events/block_fold.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "collapse/events/open_blocks.h"
#include "collapse/events/open_chains.h"

namespace memflame {

class BlockFold::Folder {
 public:
  Folder(const History& history, Visit visit, Change change)
      : history_(history), visit_(std::move(visit)), change_(std::move(change)) {}

  void take(std::span<const Event> events) {
    learn_tables();
    has_begun_ = true;
    is_in_checkpoint_ = false;
    for (size_t i = 0; i < events.size(); ++i) {
      prefetch(events.subspan(i));
      take(events[i]);
    }
  }

  void take(const EventGap& gap) {
    has_begun_ = true;
    is_in_checkpoint_ = false;
    ++counts_.gaps;
    gap_ = {.from_ns = gap_ ? gap_->from_ns : gap.from_ns, .until_ns = gap.until_ns, .events = 0};
    // Calls may be lost, so the next one that is seen may not be the next one.
    ++gap_number_;
  }

  void take(const CheckpointPart& part) {
    learn_tables();
    if (part.is_first) {
      checkpoint_ = static_cast<uint16_t>(checkpoint_ % UINT16_MAX + 1);
      is_in_checkpoint_ = true;
    }
    if (!is_in_checkpoint_) {
      ++counts_.contradictions;
      return;
    }
    for (const LiveBlock& block : part.blocks) see(block);
    if (!part.is_last) return;
    ++counts_.checkpoints;
    end_unseen(part.time_ns);
    for (ThreadState& thread : threads_) forget_restored(thread);
    is_in_checkpoint_ = false;
    has_begun_ = true;
    gap_.reset();
  }

  void finish(uint64_t end_ns) {
    for (ThreadState& thread : threads_) settle(thread);
    blocks_.each([&](OpenBlock& open) { leak(open, end_ns); });
  }

  const FoldCounts& counts() const { return counts_; }
  uint64_t open_blocks() const { return blocks_.size(); }
  bool changes_are_exact() const {
    return counts_.gaps + counts_.restores + counts_.contradictions + counts_.differences() == 0;
  }

 private:
  struct ThreadState {
    BlockNumber allocated = BlockNumber::none;  // by its last call
    uint32_t gap_number = 0;                    // at that time
    // A free that a restore may follow.
    BlockNumber freed = BlockNumber::none;
    bool is_transient = false;
    RawStackId freeing_stack;
    uint64_t freed_ns = 0;
  };
  struct SpaceState {
    bool has_ended = false;
    uint64_t end_ns = 0;
    uint64_t open = 0;  // blocks
  };

  void learn_tables() {
    const std::vector<RawStack>& stacks = history_.recording.stacks;
    for (size_t i = stack_spaces_.size(); i < stacks.size(); ++i)
      stack_spaces_.push_back(stacks[i].space);
    spaces_.resize(std::max(spaces_.size(), history_.recording.spaces.size()));
    threads_.resize(std::max(threads_.size(), history_.threads.size()));
  }

  SpaceId space_of(RawStackId stack, ThreadId thread) const {
    SpaceId space;
    if (stack.index < stack_spaces_.size()) space = stack_spaces_[stack.index];
    if (!space && thread.index < history_.threads.size())
      space = history_.threads[thread.index].space;
    return space.index < spaces_.size() ? space : SpaceId{};
  }

  // None if it does not live any more.
  OpenBlock* living(BlockNumber number) {
    OpenBlock* const open = blocks_.find(number);
    const bool lives = open != nullptr && !open->freed && !spaces_[open->space.index].has_ended;
    return lives ? open : nullptr;
  }

  // Most time is spent waiting for memory.
  void prefetch(std::span<const Event> events) const {
    constexpr size_t for_slot = 16, for_block = 8;
    const auto earlier = [](const Event& event) {
      return event.kind == EventKind::move ? event.moved : event.block;
    };
    if (events.size() <= for_slot) return;
    blocks_.prefetch_slot(earlier(events[for_slot]));
    if (events[for_block].kind != EventKind::allocation)
      blocks_.prefetch_block(earlier(events[for_block]));
  }

  void take(const Event& event) {
    if (event.kind == EventKind::end_of_space) return end_space(event);
    ThreadState& thread = threads_[event.thread.index < threads_.size() ? event.thread.index : 0];
    if (event.kind == EventKind::restore) return restore(event, thread);
    settle(thread);
    const bool is_known = &thread != threads_.data() && thread.gap_number == gap_number_;
    const BlockNumber before = is_known ? thread.allocated : BlockNumber::none;
    thread.allocated = BlockNumber::none;
    thread.gap_number = gap_number_;
    switch (event.kind) {
      case EventKind::allocation:
        if (add(event, 0)) thread.allocated = event.block;
        break;
      case EventKind::move:
        if (move(event, event.moved == before)) thread.allocated = event.block;
        break;
      case EventKind::free:
        free(event, thread, event.block == before);
        break;
      case EventKind::restore:
      case EventKind::end_of_space:
        break;
    }
  }

  bool is_possible(const Event& event) {
    if (event.block != BlockNumber::none && blocks_.find(event.block) == nullptr &&
        !spaces_[space_of(event.stack, event.thread).index].has_ended)
      return true;
    ++counts_.contradictions;
    return false;
  }

  bool add(const Event& event, uint32_t chain) {
    if (!is_possible(event)) return false;
    add({.number = event.block,
         .allocated_ns = event.time_ns,
         .address = event.address,
         .size = event.size,
         .weight = event.weight,
         .count = event.count,
         .thread = event.thread,
         .stack = event.stack,
         .space = space_of(event.stack, event.thread),
         .chain = chain});
    return true;
  }

  void add(const OpenBlock& block) {
    if (change_) tell_change(block, block.allocated_ns, false);
    blocks_.add(block);
    ++spaces_[block.space.index].open;
  }

  void tell_change(const OpenBlock& block, uint64_t time_ns, bool is_free) const {
    change_({.time_ns = time_ns,
             .stack = block.stack,
             .is_free = is_free,
             .bytes = block.weight != 0 ? block.weight : block.size});
  }

  bool move(const Event& event, bool is_transient) {
    if (!is_possible(event)) return false;
    OpenBlock* const open = living(event.moved);
    if (open == nullptr) {
      ++counts_.frees_of_unknown;
      return add(event, 0);
    }
    Block block = story(*open);
    block.moved = true;
    block.transient = is_transient;
    block.freeing_thread = event.thread;
    block.freeing_stack = event.stack;
    block.freed_ns = block.end_ns = std::max(event.time_ns, open->allocated_ns);
    if (change_) tell_change(*open, event.time_ns, true);
    const uint32_t chain = open->chain != 0 ? open->chain : chains_.begin();
    chains_.add(chain, block);
    remove(*open);
    return add(event, chain);
  }

  void free(const Event& event, ThreadState& thread, bool is_transient) {
    OpenBlock* const open = living(event.block);
    if (open == nullptr) {
      ++counts_.frees_of_unknown;
      return;
    }
    open->freed = true;
    if (change_) tell_change(*open, event.time_ns, true);
    thread.freed = event.block;
    thread.is_transient = is_transient;
    thread.freeing_stack = event.stack;
    thread.freed_ns = event.time_ns;
  }

  void restore(const Event& event, ThreadState& thread) {
    if (thread.freed != event.block || event.block == BlockNumber::none) {
      settle(thread);
      ++counts_.contradictions;
      return;
    }
    thread.freed = BlockNumber::none;
    ++counts_.restores;
    if (OpenBlock* const open = blocks_.find(event.block)) open->freed = false;
  }

  // The thread does something else, so its free is final.
  void settle(ThreadState& thread) {
    if (thread.freed == BlockNumber::none) return;
    OpenBlock* const open = blocks_.find(std::exchange(thread.freed, BlockNumber::none));
    if (open == nullptr || !open->freed) return;
    Block block = story(*open);
    block.transient = thread.is_transient;
    block.freeing_thread = ThreadId{static_cast<uint32_t>(&thread - threads_.data())};
    block.freeing_stack = thread.freeing_stack;
    block.freed_ns = block.end_ns = std::max(thread.freed_ns, open->allocated_ns);
    hand_on(*open, block);
  }

  // What a checkpoint has restored is not to be freed by this thread.
  void forget_restored(ThreadState& thread) {
    if (thread.freed == BlockNumber::none) return;
    const OpenBlock* const open = blocks_.find(thread.freed);
    if (open == nullptr || !open->freed) thread.freed = BlockNumber::none;
  }

  void end_space(const Event& event) {
    if (!event.space || event.space.index >= spaces_.size()) {
      ++counts_.contradictions;
      return;
    }
    SpaceState& space = spaces_[event.space.index];
    if (std::exchange(space.has_ended, true)) return;
    space.end_ns = event.time_ns;
    // Its blocks are handed on together with those of other spaces: a machine may start and end a
    // thousand processes a second.
    ended_ += space.open;
    if (4 * ended_ > blocks_.places()) sweep_ended();
  }

  void sweep_ended() {
    blocks_.each([&](OpenBlock& open) {
      if (!open.freed && spaces_[open.space.index].has_ended) leak(open, 0);
    });
    blocks_.compact();
    ended_ = 0;
  }

  void see(const LiveBlock& block) {
    if (OpenBlock* const open = blocks_.find(block.block)) {
      if (open->seen == checkpoint_ || spaces_[open->space.index].has_ended) {
        ++counts_.contradictions;
        return;
      }
      open->seen = checkpoint_;
      if (std::exchange(open->freed, false) && !gap_) ++counts_.unannounced;
      if (open->size != block.size || open->stack != block.stack ||
          open->address != block.address || open->weight != block.weight ||
          open->count != block.count)
        ++counts_.different;
      return;
    }
    const SpaceId space = space_of(block.stack, block.thread);
    if (block.block == BlockNumber::none || spaces_[space.index].has_ended) {
      ++counts_.contradictions;
      return;
    }
    count_new();
    add({.number = block.block,
         .allocated_ns = block.allocated_ns,
         .address = block.address,
         .size = block.size,
         .weight = block.weight,
         .count = block.count,
         .thread = block.thread,
         .stack = block.stack,
         .space = space,
         .seen = checkpoint_});
  }

  // A block of a checkpoint that should not live.
  void count_new() {
    if (gap_) {
      ++counts_.allocated_in_gaps;
    } else if (has_begun_) {
      ++counts_.unannounced;
    }
  }

  void end_unseen(uint64_t time_ns) {
    blocks_.each([&](OpenBlock& open) {
      if (open.seen == checkpoint_ || open.freed) return;
      if (spaces_[open.space.index].has_ended) return leak(open, 0);
      Block block = story(open);
      ++(gap_ ? counts_.freed_in_gaps : counts_.missing);
      block.uncertain = true;
      block.freed_ns = block.end_ns = std::max(gap_ ? gap_->until_ns : time_ns, open.allocated_ns);
      hand_on(open, block);
    });
    blocks_.compact();
    ended_ = 0;
  }

  Block story(const OpenBlock& open) const {
    const std::vector<Block>& earlier = chains_[open.chain];
    return {.number = open.number,
            .first = earlier.empty() ? open.number : earlier.front().number,
            .allocated_ns = open.allocated_ns,
            .address = open.address,
            .size = open.size,
            .weight = open.weight,
            .count = open.count,
            .position = static_cast<uint32_t>(earlier.size() + 1),
            .thread = open.thread,
            .freeing_thread = {},
            .stack = open.stack,
            .freeing_stack = {}};
  }

  // It lives until its space ends, or else the recording.
  void leak(OpenBlock& open, uint64_t end_ns) {
    const SpaceState& space = spaces_[open.space.index];
    Block block = story(open);
    block.end_ns = std::max(space.has_ended ? space.end_ns : end_ns, open.allocated_ns);
    // A gap that no checkpoint has followed may have its free; but a recording that ends in the gap
    // ends where that begins.
    block.uncertain = gap_ && block.end_ns > gap_->from_ns && open.allocated_ns < gap_->until_ns;
    if (block.uncertain) ++counts_.lost;
    hand_on(open, block);
  }

  // The last block of its chain.
  void hand_on(OpenBlock& open, const Block& block) {
    const uint32_t place = open.chain;
    remove(open);
    const std::vector<Block>& earlier = chains_[place];
    const Block& first = earlier.empty() ? block : earlier.front();
    const Chain chain{.length = block.position,
                      .allocated_ns = first.allocated_ns,
                      .end_ns = block.end_ns,
                      .first_size = first.size,
                      .last_size = block.size,
                      .leaked = block.leaked()};
    counts_.blocks += chain.length;
    ++counts_.chains;
    for (const Block& segment : earlier) visit_(segment, chain);
    visit_(block, chain);
    chains_.end(place);
  }

  void remove(OpenBlock& open) {
    --spaces_[open.space.index].open;
    blocks_.remove(open);
  }

  const History& history_;
  Visit visit_;
  Change change_;
  FoldCounts counts_;
  OpenBlocks blocks_;
  OpenChains chains_;
  std::vector<SpaceId> stack_spaces_;
  std::vector<SpaceState> spaces_;
  std::vector<ThreadState> threads_;
  std::optional<EventGap> gap_;  // that no checkpoint has followed yet
  uint32_t gap_number_ = 0;
  uint16_t checkpoint_ = 0;
  uint64_t ended_ = 0;  // about how many blocks of ended spaces are kept
  bool is_in_checkpoint_ = false;
  bool has_begun_ = false;  // something came before
};

BlockFold::BlockFold(const History& history, Visit visit, Change change)
    : folder_(std::make_unique<Folder>(history, std::move(visit), std::move(change))) {}
BlockFold::~BlockFold() = default;

void BlockFold::events(std::span<const Event> events) { folder_->take(events); }
void BlockFold::gap(const EventGap& gap) { folder_->take(gap); }
void BlockFold::checkpoint(const CheckpointPart& part) { folder_->take(part); }
void BlockFold::finish(uint64_t end_ns) { folder_->finish(end_ns); }
const FoldCounts& BlockFold::counts() const { return folder_->counts(); }
bool BlockFold::changes_are_exact() const { return folder_->changes_are_exact(); }
uint64_t BlockFold::open_blocks() const { return folder_->open_blocks(); }

}  // namespace memflame
