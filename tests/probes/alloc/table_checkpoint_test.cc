// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/table_checkpoint.h"

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t ms = 1'000'000;
using Table = TableCheckpoint::Table;
using Numbers = std::set<uint64_t>;

LiveBlock block(uint64_t number, uint64_t allocated_ns) {
  return {.block = BlockNumber{number}, .allocated_ns = allocated_ns};
}

Numbers numbers(const std::vector<LiveBlock>& blocks) {
  Numbers all;
  for (const LiveBlock& block : blocks)
    CHECK(all.insert(static_cast<uint64_t>(block.block)).second);
  return all;
}

bool nothing_is_gone(const LiveBlock&, SpaceId) { return false; }

// Programs that change a table and tell of it, each somewhat later; and memflame, which handles
// what it was told every 10 ms.
class World {
 public:
  explicit World(unsigned seed) : random_(seed) {}

  // Programs act until then.
  void go_on(uint64_t until_ns) {
    while (!actions_.empty() && actions_.begin()->first <= until_ns) {
      const auto action = std::move(actions_.begin()->second);
      now_ = actions_.begin()->first;
      actions_.erase(actions_.begin());
      action();
    }
    now_ = until_ns;
  }

  void start(unsigned programs) {
    for (unsigned i = 0; i < programs; ++i) after(random_() % ms, [this] { act({}); });
  }

  // As AllocEvents does it. True if a checkpoint was compared.
  bool poll() {
    handle();
    if (!made_.is_begun()) made_.begin(now_);
    const uint64_t handled = std::exchange(polled_, now_);
    const Table wanted = made_.to_read(handled);
    if (wanted != Table::none) read(wanted == Table::moving ? moving_ : table_);
    if (!made_.is_ready(handled)) return false;
    Numbers wanted_numbers;
    for (const auto& [number, time] : told_) wanted_numbers.insert(number);
    CHECK(numbers(made_.take(nothing_is_gone)) == wanted_numbers);
    return true;
  }
  uint64_t now() const { return now_; }
  size_t moving() const { return moving_.size(); }

 private:
  using Blocks = std::map<uint64_t, uint64_t>;  // number -> time of its allocation
  struct Told {
    uint64_t begun = 0, ended = 0, time = 0;
  };

  void after(uint64_t ns, std::function<void()> action) {
    actions_.emplace(now_ + ns, std::move(action));
  }
  uint64_t moment() { return random_() % 3 == 0 ? random_() % (49 * ms) : random_() % (ms / 10); }
  void tell(const Told& told) { ring_.push_back(told); }

  // A program with these blocks does something, and goes on.
  void act(std::vector<uint64_t> own) {
    const unsigned kind = random_() % 8;
    if (own.empty() || (kind < 3 && own.size() < 50)) {
      const uint64_t number = ++numbers_, time = now_;
      after(moment(), [this, own = std::move(own), number, time]() mutable {
        table_[number] = time;
        own.push_back(number);
        after(moment(), [this, own = std::move(own), number, time] {
          tell({.begun = number, .time = time});
          go_on_with(own);
        });
      });
      return;
    }
    const size_t at = random_() % own.size();
    const uint64_t old = own[at];
    own.erase(own.begin() + static_cast<std::ptrdiff_t>(at));
    if (kind < 6) {
      table_.erase(old);
      after(moment(), [this, own = std::move(own), old] {
        tell({.ended = old});
        go_on_with(own);
      });
      return;
    }
    moving_[old] = table_[old];
    table_.erase(old);
    const uint64_t number = ++numbers_;
    // Some reallocs take long.
    after(random_() % 5 == 0 ? random_() % (600 * ms) : moment(),
          [this, own = std::move(own), old, number]() mutable {
            const uint64_t time = now_;
            table_[number] = time;
            own.push_back(number);
            after(moment(), [this, own = std::move(own), old, number, time] {
              tell({.begun = number, .ended = old, .time = time});
              moving_.erase(old);
              go_on_with(own);
            });
          });
  }
  void go_on_with(const std::vector<uint64_t>& own) {
    after(random_() % ms, [this, own] { act(own); });
  }

  // All that was told by the call before, and a part of the rest.
  void handle() {
    const size_t count = known_ + random_() % (ring_.size() - known_ + 1);
    const std::vector<Told> handled(ring_.begin(),
                                    ring_.begin() + static_cast<std::ptrdiff_t>(count));
    ring_.erase(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(count));
    known_ = ring_.size();
    for (const Told& told : handled) {
      if (told.ended != 0) {
        CHECK(told_.erase(told.ended) == 1);
        if (made_.is_begun()) made_.ended(BlockNumber{told.ended});
      }
      if (told.begun != 0) {
        CHECK(told_.emplace(told.begun, told.time).second);
        if (made_.is_begun()) made_.began(block(told.begun, told.time));
      }
    }
  }

  // Not in one moment.
  void read(const Blocks& blocks) {
    constexpr uint64_t parts = 8;
    for (uint64_t part = 0; part < parts; ++part) {
      go_on(now_ + random_() % ms);
      for (const auto& [number, time] : blocks)
        if (number % parts == part) made_.add(block(number, time), SpaceId{1});
    }
    made_.has_read(now_);
  }

  std::mt19937 random_;
  uint64_t now_ = 0, polled_ = 0, numbers_ = 0;
  std::multimap<uint64_t, std::function<void()>> actions_;
  Blocks table_, moving_;
  std::vector<Told> ring_;
  size_t known_ = 0;  // of them, at the last poll
  Blocks told_;       // by the events that were handled
  TableCheckpoint made_;
};

}  // namespace

TEST_CASE("a checkpoint has what lives by the events before it, whatever is going on") {
  size_t compared = 0, moving = 0;
  const auto worlds = static_cast<unsigned>(scaled(20));
  for (unsigned seed = 1; seed <= worlds; ++seed) {
    CAPTURE(seed);
    World world(seed);
    world.start(10);
    for (int i = 0; i < 200; ++i) {
      world.go_on(world.now() + 10 * ms);
      moving += world.moving();
      if (world.poll()) ++compared;
    }
  }
  CHECK(compared > size_t{5} * worlds);
  CHECK(moving > size_t{50} * worlds);
}

TEST_CASE("each stage waits until what was under way has been told") {
  TableCheckpoint made;
  CHECK(made.to_read(1000 * ms) == Table::none);
  made.begin(100 * ms);
  CHECK(made.is_begun());
  CHECK(made.to_read(99 * ms) == Table::blocks);
  made.add(block(1, 20 * ms), SpaceId{1});
  made.add(block(2, 20 * ms), SpaceId{2});
  made.has_read(160 * ms);
  CHECK(made.to_read(209 * ms) == Table::none);
  CHECK(made.to_read(210 * ms) == Table::moving);
  made.has_read(211 * ms);
  CHECK_FALSE(made.is_ready(260 * ms));
  CHECK(made.is_ready(261 * ms));
  // Without what an ended process has left.
  CHECK(numbers(made.take([](const LiveBlock&, SpaceId space) { return space == SpaceId{2}; })) ==
        Numbers{1});
  CHECK_FALSE(made.is_begun());
}

TEST_CASE("a block that a realloc holds is there once; a block whose event is to come is not") {
  TableCheckpoint made;
  made.begin(100 * ms);
  made.add(block(1, 20 * ms), SpaceId{1});
  made.add(block(9, 120 * ms), SpaceId{1});  // has begun meanwhile
  made.has_read(160 * ms);
  made.add(block(1, 20 * ms), SpaceId{1});
  made.add(block(2, 20 * ms), SpaceId{1});
  made.has_read(211 * ms);
  CHECK(numbers(made.take(nothing_is_gone)) == Numbers{1, 2});
}
