// SPDX-License-Identifier: BSD-2-Clause
// Everything that was not captured, not attributed or not named, by cause. A loss is never an
// error: the run goes on, the counter is printed, and lost bytes stay visible in the picture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace memflame {

enum class Loss : uint8_t {
#define MEMFLAME_LOSS(name, kind, label, remedy) name,
#include "core/losses.def"
#undef MEMFLAME_LOSS
  count_,
};

// `missing`: events that are in no total, or under no stack. `cut`: events whose stack ends before
// its first frame; the totals include them, and the picture marks them `[truncated: …]`. Either
// fails --strict. `news`: expected in a healthy run.
enum class LossKind : uint8_t { missing, cut, news };

struct LossInfo {
  std::string_view name;  // key in --summary
  LossKind kind;
  std::string_view label;   // in `[lost: …]`, `[truncated: …]` and on stderr
  std::string_view remedy;  // the likely cause and what helps; "" if the label says it
};

inline constexpr std::array<LossInfo, static_cast<size_t>(Loss::count_)> loss_info{{
#define MEMFLAME_LOSS(name, kind, label, remedy) {#name, LossKind::kind, label, remedy},
#include "core/losses.def"
#undef MEMFLAME_LOSS
}};

struct LossCount {
  uint64_t events = 0;
  int64_t bytes = 0;
};

// Sums stop at the largest number: what an input says of its losses must not end a run.
class Losses {
 public:
  void add(Loss loss, uint64_t events, int64_t bytes = 0) {
    LossCount& count = counts_[static_cast<size_t>(loss)];
    add_to(count.events, events);
    add_to(count.bytes, bytes);
  }
  void add(const Losses& other) {
    for (size_t i = 0; i < counts_.size(); ++i)
      add(static_cast<Loss>(i), other.counts_[i].events, other.counts_[i].bytes);
  }
  const LossCount& operator[](Loss loss) const { return counts_[static_cast<size_t>(loss)]; }

  // The sum over all causes of a kind.
  LossCount sum(LossKind kind) const {
    LossCount sum;
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (loss_info[i].kind != kind) continue;
      add_to(sum.events, counts_[i].events);
      add_to(sum.bytes, counts_[i].bytes);
    }
    return sum;
  }
  uint64_t lost_events() const { return sum(LossKind::missing).events; }
  int64_t lost_bytes() const { return sum(LossKind::missing).bytes; }
  // Fails --strict.
  bool any() const { return lost_events() != 0 || sum(LossKind::cut).events != 0; }

 private:
  template <class Number>
  static void add_to(Number& sum, Number more) {
    if (__builtin_add_overflow(sum, more, &sum))
      sum = more > 0 ? std::numeric_limits<Number>::max() : std::numeric_limits<Number>::min();
  }

  std::array<LossCount, static_cast<size_t>(Loss::count_)> counts_{};
};

inline const LossInfo& info(Loss loss) { return loss_info[static_cast<size_t>(loss)]; }

}  // namespace memflame
