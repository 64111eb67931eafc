// SPDX-License-Identifier: BSD-2-Clause
// The live table of a run inside: every live block with its stack, and the sums per stack.
//
// The idea is that of the kernel's (probes/alloc/bpf/blocks.h): sums change with each event, and a
// free subtracts exactly what its allocation added. Here one thread does it, in a table with open
// addressing (linear probing; a removal moves the entries behind it up, Knuth 6.4 R), so an event
// is one cache miss, which prefetch() hides. Cost: 32 bytes an entry; the table is at most half
// full, so that most searches end in the cache line where they begin, and doubles, which takes 10
// ns an entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/events.h"
#include "core/ids.h"
#include "probes/bpf/shared.h"
#include "probes/inside/estimates.h"
#include "probes/processes/gone.h"

namespace memflame::inside {

struct LiveEntry {
  uint64_t address = 0;  // 0: none
  uint64_t ticks = 0;    // TSC, when it was allocated
  uint64_t size : 56 = 0;
  uint64_t mean : 8 = 0;  // of the sampling that found it, see mean_number()
  uint32_t space = 0;
  uint32_t stack = 0;
};

class LiveTable {
 public:
  // most: entries, 0 = no limit.
  explicit LiveTable(size_t most = 0);
  // From now on each entry has a number beside it, 0 at first. To be called while it is empty.
  void give_numbers() { numbers_.resize(entries_.size()); }

  void prefetch(uint32_t space, uint64_t address) const {
    __builtin_prefetch(&entries_[place(space, address)]);
  }
  const LiveEntry* find(uint32_t space, uint64_t address) const;
  // Adds an entry, or puts it in the place of the one with this address, which `old` becomes then.
  enum class Put : uint8_t { added, replaced, no_room };
  Put put(const LiveEntry& entry, LiveEntry& old);
  std::optional<LiveEntry> take(uint32_t space, uint64_t address);
  // The number of an entry that is there; 0 if there is none, or without numbers.
  uint64_t number(uint32_t space, uint64_t address) const {
    return numbers_.empty() ? 0 : numbers_[slot(space, address)];
  }
  void set_number(uint32_t space, uint64_t address, uint64_t number) {
    if (!numbers_.empty()) numbers_[slot(space, address)] = number;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const LiveEntry& entry : entries_)
      if (entry.address != 0) visit(entry);
  }
  template <class Visit>
  void for_each_numbered(Visit visit) const {
    for (size_t i = 0; i < numbers_.size(); ++i)
      if (entries_[i].address != 0) visit(entries_[i], numbers_[i]);
  }
  size_t size() const { return size_; }

 private:
  size_t place(uint32_t space, uint64_t address) const {
    const uint64_t hash = ((address >> 4) ^ uint64_t{space} << 44) * 0x9e3779b97f4a7c15;
    return hash >> shift_;
  }
  size_t slot(uint32_t space, uint64_t address) const;
  void grow();

  std::vector<LiveEntry> entries_;  // a power of two of them
  std::vector<uint64_t> numbers_;   // of the entries in the same places; or empty
  unsigned shift_;
  size_t size_ = 0, most_;
};

// The number by which entries name the mean distance of samples: 0 for the one that the run began
// with, else for a power of two of bytes up to 2^30; none for anything else.
std::optional<uint8_t> mean_number(uint64_t mean, uint64_t first);

// Live blocks for which the table had no room: they stay in the figures, without a stack.
struct Unfollowed {
  int64_t bytes = 0, count = 0;
  int64_t bytes_variance = 0, count_variance = 0;  // as in BlockSums
};

struct BlockSums {
  int64_t live = 0, live_count = 0, total = 0, total_count = 0;
  // If blocks are sampled, the variances of these four, in the units of Estimate.
  int64_t live_variance = 0, live_count_variance = 0, total_variance = 0, total_count_variance = 0;
};

// What happened to blocks, in the order of time.
class LiveBlocks {
 public:
  // Sizes that count, the most live blocks that are followed (0 = no limit), and the bytes for each
  // of which one block was sampled when the run began (0 = all blocks come, always).
  LiveBlocks(uint64_t min_size, uint64_t max_size, size_t most, uint64_t sample_bytes = 0);

  void prefetch(uint32_t space, uint64_t address) const { table_.prefetch(space, address); }
  // How blocks that were sampled at this mean distance say so in LiveEntry::mean; none if the run
  // cannot have sampled at it.
  std::optional<uint8_t> number_of(uint64_t mean) const { return mean_number(mean, sample_bytes_); }
  // A space begins, as the copy of another one; 0 = of none.
  void begin(SpaceId space, SpaceId parent, uint64_t ticks);

  // `ring` tells who said it; see free().
  enum class Taken : uint8_t { live, passed_over, no_room, freed_early };
  Taken allocate(const LiveEntry& block, uint32_t ring);
  // What a free did; restore() undoes it.
  struct Freed {
    enum class Was : uint8_t { nothing, live, inherited, unknown };
    Was was = Was::nothing;
    LiveEntry block;  // if it was live
  };
  Freed free(uint32_t space, uint64_t address, uint64_t ticks, uint32_t ring);
  bool restore(const Freed& freed);  // false if no block lives on

  // Numbers of blocks, for those who need them: see LiveTable.
  void give_numbers() { table_.give_numbers(); }
  BlockNumber number(uint32_t space, uint64_t address) const {
    return static_cast<BlockNumber>(table_.number(space, address));
  }
  void set_number(uint32_t space, uint64_t address, BlockNumber number) {
    table_.set_number(space, address, static_cast<uint64_t>(number));
  }

  // What a block stands for.
  Estimate estimate(const LiveEntry& block) const;
  const LiveTable& table() const { return table_; }
  const std::vector<BlockSums>& sums() const { return sums_; }               // by stack
  const std::vector<Unfollowed>& unfollowed() const { return unfollowed_; }  // by space
  // Fields of blocks, as the kernel's programs count them.
  const bpf::counters& counters() const { return counters_; }
  // Frees whose stamp was not in order with an allocation of another thread, because a processor
  // reads the TSC before earlier instructions have finished: while a thread still waits for the
  // cache line that gives it a block, it may stamp the block's free. They were put in order.
  uint64_t reordered() const { return reordered_; }
  // The number of blocks that those which came stand for.
  uint64_t stand_for() const { return stand_for_; }
  void set_window(uint64_t ticks) { window_ = ticks; }
  // Blocks of these spaces make room for others. The sums stay as they are.
  void forget(const IsGone& is_gone);
  // What is there of a stack, or of a space's blocks that are not followed, begins anew.
  BlockSums take_sum(uint32_t stack) {
    return stack < sums_.size() ? std::exchange(sums_[stack], {}) : BlockSums{};
  }
  Unfollowed take_unfollowed(uint32_t space) {
    return space < unfollowed_.size() ? std::exchange(unfollowed_[space], {}) : Unfollowed{};
  }
  // The sums of these stacks and spaces begin anew. None of their blocks may be there any more.
  void forget_sums(const IsGone& is_gone, const std::function<bool(uint32_t stack)>& is_stack_gone);

 private:
  // A block whose address was allocated again, so its free was not seen; or not yet.
  struct Displaced {
    LiveEntry block;
    uint64_t ticks = 0;  // of the later allocation
    uint32_t ring = 0;
  };
  // A free of an unknown address; or of a block whose allocation is stamped somewhat later.
  struct Missed {
    uint64_t address = 0, ticks = 0;
    uint32_t space = 0, ring = 0;
  };
  struct Birth {
    SpaceId parent;
    uint64_t ticks = 0;
  };
  BlockSums& sum(uint32_t stack);
  void add_total(const LiveEntry& block);
  void change_live(const LiveEntry& block, int sign);
  void add_unfollowed(const LiveEntry& block);
  void miss(uint32_t space, uint64_t address, uint64_t ticks, uint32_t ring, Freed& freed);
  void displace(const LiveEntry& old, uint64_t ticks, uint32_t ring);
  bool was_freed_early(const LiveEntry& block, uint32_t ring);
  bool is_inherited(uint32_t space, uint64_t address) const;
  bool was_displaced(uint32_t space, uint64_t address, uint64_t ticks, uint32_t ring,
                     LiveEntry& block);

  uint64_t min_size_, max_size_, sample_bytes_;
  bool counts_misses_;  // if not all blocks are kept, a free of an unknown one means nothing
  LiveTable table_;
  std::vector<BlockSums> sums_;
  std::vector<Birth> births_;           // by space
  std::vector<Unfollowed> unfollowed_;  // by space
  std::vector<Displaced> displaced_;
  size_t next_displaced_ = 0;
  uint64_t newest_displaced_ = 0;  // ticks
  std::vector<Missed> missed_;
  size_t next_missed_ = 0;
  uint64_t newest_missed_ = 0;  // ticks
  uint64_t window_ = 0;
  uint64_t reordered_ = 0;
  uint64_t stand_for_ = 0;
  bpf::counters counters_{};
};

}  // namespace memflame::inside
