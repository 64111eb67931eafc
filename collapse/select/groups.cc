// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/groups.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace memflame {
namespace {

// Wide, so that the weights of a damaged file cannot overflow.
__extension__ using LiveBytes = __int128;

// Live bytes as they change, and when they first were the most. A value counts only once all
// changes of its time are known.
class PeakWatch {
 public:
  void add(const LiveChange& change) {
    if (change.time_ns != time_ns_) settle();
    time_ns_ = change.time_ns;
    live_ += change.is_free ? -LiveBytes{change.bytes} : LiveBytes{change.bytes};
  }
  // Nothing more happens until a later time.
  void settle() {
    if (live_ <= most_) return;
    most_ = live_;
    peak_ns_ = time_ns_;
  }
  // Goes on where `live` bytes live, which is not a maximum.
  void skip_to(LiveBytes live) {
    settle();
    live_ = live;
  }
  uint64_t peak_ns() const { return peak_ns_; }

 private:
  LiveBytes live_ = 0, most_ = 0;
  uint64_t time_ns_ = 0, peak_ns_ = 0;
};

// What happens in one of many equal parts of the run.
struct PartOfRun {
  size_t changes = 0;
  LiveBytes allocated = 0, freed = 0;
};

class Grouping {
 public:
  Grouping(BlockSource& source, const WantedGroups& wanted)
      : source_(source),
        wanted_(wanted),
        part_ns_(source.facts().end_ns / part_count + 1),
        parts_(part_count) {
    const size_t stacks = source.facts().recording.stacks.size();
    if (wanted.groups || wanted.group_peaks) result_.groups.resize(stacks);
    if (wanted.group_peaks) peaks_.resize(stacks);
  }

  RunGroups run() {
    const bool wants_peaks = wanted_.peak || wanted_.group_peaks;
    keeps_changes_ = wants_peaks && !take_changes();
    if (keeps_changes_ || !result_.groups.empty()) first_pass();
    add_culled();
    if (keeps_changes_) walk_kept();
    if (wants_peaks) take_peaks();
    return std::move(result_);
  }

 private:
  static constexpr size_t part_count = 65'536;

  size_t part_of(uint64_t time_ns) const {
    return static_cast<size_t>(std::min<uint64_t>(time_ns / part_ns_, part_count - 1));
  }

  // The peaks by one reading of what changes. False if the source cannot give that.
  bool take_changes() {
    if (source_.for_each_change([this](const LiveChange& change) { add(change); })) return true;
    peak_ = {};
    peaks_.assign(peaks_.size(), {});
    return false;
  }

  // Or else by all changes, if they can be kept, or by those of one part after the other.
  void walk_kept() {
    if (is_complete_)
      walk();
    else if (wanted_.group_peaks)
      walk_parts(std::vector<bool>(part_count, true));
    else
      walk_parts(parts_with_peak());
  }

  void take_peaks() {
    peak_.settle();
    result_.peak_ns = peak_.peak_ns();
    for (size_t i = 0; i < peaks_.size(); ++i) {
      peaks_[i].settle();
      result_.groups[i].peak_ns = peaks_[i].peak_ns();
    }
  }

  void add(const LiveChange& change) {
    peak_.add(change);
    if (change.stack.index < peaks_.size()) peaks_[change.stack.index].add(change);
  }

  template <class Take>
  void for_each_change(const Take& take) {
    source_.for_each_block([&](const Block& block, const Chain&) {
      LiveChange change{
          .time_ns = block.allocated_ns, .stack = block.stack, .bytes = bytes_of(block)};
      take(change, block);
      if (block.leaked()) return;
      change.time_ns = block.freed_ns;
      change.is_free = true;
      take(change, block);
    });
  }

  void first_pass() {
    for_each_change([&](const LiveChange& change, const Block& block) {
      if (!change.is_free && change.stack.index < result_.groups.size())
        add(block, result_.groups[change.stack.index]);
      PartOfRun& part = parts_[part_of(change.time_ns)];
      ++part.changes;
      (change.is_free ? part.freed : part.allocated) += change.bytes;
      is_complete_ &= changes_.size() < wanted_.most_changes;
      if (is_complete_ && keeps_changes_) changes_.push_back(change);
    });
  }

  // None of them is leaked.
  void add_culled() {
    for (const CulledStack& sum : source_.facts().culled)
      if (sum.blocks != 0 && sum.stack.index < result_.groups.size())
        result_.groups[sum.stack.index].count += sum.blocks;
  }

  static void add(const Block& block, StackGroup& group) {
    if (group.count == 0) group.first_ns = block.allocated_ns;
    group.first_ns = std::min(group.first_ns, block.allocated_ns);
    group.last_ns = std::max(group.last_ns, block.allocated_ns);
    group.count += block.count;
    group.leaked += block.leaked() ? block.count : 0;
  }

  // Those that can reach what live memory is at the end of some part at least.
  std::vector<bool> parts_with_peak() const {
    LiveBytes live = 0, reached = 0;
    for (const PartOfRun& part : parts_)
      reached = std::max(reached, live += part.allocated - part.freed);
    std::vector<bool> possible(part_count);
    live = 0;
    for (size_t i = 0; i < part_count; ++i) {
      possible[i] = parts_[i].changes != 0 && live + parts_[i].allocated >= reached;
      live += parts_[i].allocated - parts_[i].freed;
    }
    return possible;
  }

  // As many parts in one pass as can be kept.
  void walk_parts(const std::vector<bool>& wanted) {
    for (size_t first = 0; first < part_count;) {
      size_t end = first, changes = 0;
      while (end < part_count && (changes == 0 || !wanted[end] ||
                                  changes + parts_[end].changes <= wanted_.most_changes)) {
        if (wanted[end]) changes += parts_[end].changes;
        ++end;
      }
      if (changes > 4 * wanted_.most_changes)
        throw Error("too much happens at about the same time to tell when memory was at its peak");
      if (changes != 0) {
        changes_.clear();
        for_each_change([&](const LiveChange& change, const Block&) {
          const size_t part = part_of(change.time_ns);
          if (part >= first && part < end && wanted[part]) changes_.push_back(change);
        });
        walk();
      }
      first = end;
    }
  }

  // What was kept, in the order of time. Parts that were left out change what lives.
  void walk() {
    std::sort(changes_.begin(), changes_.end(),
              [](const LiveChange& a, const LiveChange& b) { return a.time_ns < b.time_ns; });
    for (const LiveChange& change : changes_) {
      const size_t part = part_of(change.time_ns);
      if (part > part_) {
        for (; part_ < part; ++part_) live_before_ += parts_[part_].allocated - parts_[part_].freed;
        peak_.skip_to(live_before_);
      }
      add(change);
    }
  }

  BlockSource& source_;
  const WantedGroups wanted_;
  const uint64_t part_ns_;
  std::vector<PartOfRun> parts_;
  std::vector<LiveChange> changes_;
  bool keeps_changes_ = false;
  bool is_complete_ = true;  // changes_ has all of the run
  RunGroups result_;
  PeakWatch peak_;
  std::vector<PeakWatch> peaks_;  // by stack
  size_t part_ = 0;               // that walk() is in
  LiveBytes live_before_ = 0;     // at its beginning
};

}  // namespace

RunGroups groups_of(BlockSource& source, const WantedGroups& wanted) {
  return Grouping(source, wanted).run();
}

}  // namespace memflame
