// SPDX-License-Identifier: BSD-2-Clause
// Random selections of random runs, against an evaluator that does what the documentation says in
// the plainest way: each condition looks at all blocks anew.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/collapse/select/made_run.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace)

namespace {

struct Item {
  Block block;
  Chain chain;
};
using Items = std::vector<Item>;
using Holds = std::function<bool(const Item&)>;

// What is expected, beside the text that says it.
struct Said {
  std::string text;
  Holds holds;
};

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed) { fill(); }

  int below(int limit) { return static_cast<int>(random_() % static_cast<uint64_t>(limit)); }
  MadeRun& run() { return run_; }
  Items items() const {
    Items items;
    for (const auto& [block, chain] : run_.blocks) items.push_back({block, chain});
    return items;
  }

 private:
  void fill() {
    run_.end_ns = 20;
    run_.marks = {{4, "m"}, {9, "n"}};
    run_.thread(813, "worker");
    const SpaceId other = run_.space(900, "helper");
    run_.stack({"main"});
    run_.stack({"main", "load"});
    run_.stack({"main", "load", "grow"}, other, "/usr/lib/liba.so");
    run_.stack({"main", "clear"});
    const int chains = below(8);
    for (int i = 0; i < chains; ++i) add_chain();
  }

  void add_chain() {
    std::vector<Block> chain(static_cast<size_t>(1 + std::max(0, below(5) - 2)));
    auto time = static_cast<uint64_t>(below(12));
    for (Block& block : chain) {
      block = {.allocated_ns = time,
               .address = static_cast<uint64_t>(below(4)),
               .size = static_cast<uint64_t>(below(5)),
               .weight = below(4) == 0 ? 7U : 0U,
               .count = static_cast<uint32_t>(1 + below(2)),
               .thread = ThreadId{static_cast<uint32_t>(below(3))},
               .stack = RawStackId{static_cast<uint32_t>(below(4))}};
      time += static_cast<uint64_t>(below(4));
    }
    Block& last = chain.back();
    const int fate = below(3);
    if (fate == 0) last.freed_ns = time;
    if (fate == 1) last.end_ns = time;
    for (Block& block : chain)
      if ((&block != &last || fate == 0) && below(3) != 0)
        block.freeing_stack = RawStackId{static_cast<uint32_t>(1 + below(4))};
    run_.add_chain(std::move(chain));
  }

  std::mt19937_64 random_;
  MadeRun run_;
};

// --- what the documentation says ---

bool is_live_at(const Item& item, int64_t time) {
  return static_cast<int64_t>(item.block.allocated_ns) <= time &&
         (item.block.leaked() || static_cast<int64_t>(item.block.freed_ns) > time);
}

// The first time with the most live bytes of the items that `counts`.
int64_t peak_of(const Items& items, const Holds& counts) {
  int64_t best = 0;
  uint64_t most = 0;
  for (int64_t time = 0; time < 40; ++time) {
    uint64_t live = 0;
    for (const Item& item : items)
      if (counts(item) && is_live_at(item, time))
        live += item.block.weight != 0 ? item.block.weight : item.block.size;
    if (live > most) best = time;
    most = std::max(most, live);
  }
  return best;
}

class Sentences {
 public:
  Sentences(RandomRun& random, Query& query)
      : random_(random), query_(query), items_(random.items()) {}

  Said any() {
    Said said = all();
    while (random_.below(3) == 0) said = join(said, " or ", all(), 1);
    return said;
  }

  // Makes the next selection that sentences may name.
  void name() {
    Said said = any();
    const std::string name = "s" + std::to_string(named_.size());
    add_let(query_, "--let", name + "=" + said.text);
    named_.push_back({name, said.holds});
  }

 private:
  // 1 union, 2 intersection, 3 difference
  static Said join(const Said& a, const std::string& with, const Said& b, int how) {
    return {a.text + with + b.text, [a = a.holds, b = b.holds, how](const Item& item) {
              return how == 1 ? a(item) || b(item) : a(item) && (how == 2) == b(item);
            }};
  }

  Said all() {
    Said said = negated();
    while (random_.below(3) == 0) said = join(said, " and ", negated(), 2);
    return said;
  }

  Said negated() {
    if (random_.below(4) != 0) return sum();
    Said said = negated();
    return {"not " + said.text, [holds = said.holds](const Item& item) { return !holds(item); }};
  }

  Said sum() {
    Said said = common();
    while (random_.below(4) == 0)
      said = random_.below(2) == 0 ? join(said, " + ", common(), 1) : join(said, "-", common(), 3);
    return said;
  }

  Said common() {
    Said said = condition();
    while (random_.below(5) == 0) said = join(said, "&", condition(), 2);
    return said;
  }

  Said in_brackets() {
    ++depth_;
    Said said = any();
    --depth_;
    return {"(" + said.text + ")", said.holds};
  }

  Said condition() {
    const int kind = random_.below(12);
    if (kind == 0 && depth_ < 3) return in_brackets();
    if (kind == 1 && !named_.empty())
      return named_[static_cast<size_t>(random_.below(static_cast<int>(named_.size())))];
    if (kind == 2) return live();
    if (kind == 3 && depth_ < 2) return stack_in();
    if (kind == 4 || kind == 5) return group();
    if (kind == 6 || kind == 7) return name_of();
    if (kind == 8) return random_.below(2) == 0 ? Said{"leaked", is_leaked} : chain_leaked();
    return number();
  }

  static bool is_leaked(const Item& item) { return item.block.leaked(); }
  static Said chain_leaked() {
    return {"chain.leaked", [](const Item& item) { return item.chain.leaked; }};
  }

  struct Time {
    std::string text;
    int64_t ns;
  };

  Time term() {
    const int ns = random_.below(22);
    switch (random_.below(8)) {
      case 0:
        return {"start", 0};
      case 1:
        return {"end", 20};
      case 2:
        return {"peak", peak_of(items_, [](const Item&) { return true; })};
      case 3:
        return {"\"m\"", 4};
      case 4:
        return {"35%", 7};
      default:
        return {std::to_string(ns) + "ns", ns};
    }
  }

  Time time() {
    Time sum = term();
    while (random_.below(4) == 0) {
      const bool minus = random_.below(2) == 0;
      const Time more = term();
      sum.text += (minus ? " - " : " + ") + more.text;
      sum.ns += minus ? -more.ns : more.ns;
    }
    return sum;
  }

  Said live() {
    const Time from = time(), until = time();
    if (random_.below(2) == 0 || from.ns > until.ns)
      return {"live at " + from.text,
              [at = from.ns](const Item& item) { return is_live_at(item, at); }};
    return {"live in " + from.text + ".." + until.text,
            [from = from.ns, until = until.ns](const Item& item) {
              return static_cast<int64_t>(item.block.allocated_ns) <= until &&
                     (item.block.leaked() || static_cast<int64_t>(item.block.freed_ns) > from);
            }};
  }

  // A comparison of a number that each block has. `never` is larger than all values.
  template <class Number>
  Said compared(const std::string& property, const std::string& text, int64_t value,
                const Number& number) {
    constexpr const char* signs[] = {" = ", " != ", " < ", " <= ", " > ", " >= "};
    const int sign = random_.below(6);
    return {property + signs[sign] + text, [sign, value, number](const Item& item) {
              const int64_t left = number(item);
              switch (sign) {
                case 0:
                  return left == value;
                case 1:
                  return left != value;
                case 2:
                  return left < value;
                case 3:
                  return left <= value;
                case 4:
                  return left > value;
                default:
                  return left >= value;
              }
            }};
  }

  template <class Number>
  Said timed(const std::string& property, const Number& number) {
    const Time from = time(), until = time();
    if (random_.below(4) != 0 || from.ns > until.ns)
      return compared(property, from.text, from.ns, number);
    return {property + " in " + from.text + ".." + until.text,
            [from = from.ns, until = until.ns, number](const Item& item) {
              return number(item) >= from && number(item) <= until;
            }};
  }

  Said number() {
    const auto as = [](auto get) {
      return [get](const Item& item) { return static_cast<int64_t>(get(item)); };
    };
    const int value = random_.below(6);
    const std::string text = std::to_string(value);
    switch (random_.below(10)) {
      case 0:
        return timed("allocated", as([](const Item& i) { return i.block.allocated_ns; }));
      case 1:
        return timed("freed", as([](const Item& i) {
                       return i.block.leaked() ? uint64_t{INT64_MAX} : i.block.freed_ns;
                     }));
      case 2:
        return timed("lifetime", as([](const Item& i) {
                       return (i.block.leaked() ? i.block.end_ns : i.block.freed_ns) -
                              i.block.allocated_ns;
                     }));
      case 3:
        return timed("chain.lifetime", as([](const Item& i) { return i.chain.lifetime_ns(); }));
      case 4:
        return compared("size", text, value, as([](const Item& i) { return i.block.size; }));
      case 5:
        return compared("first.size", text, value,
                        as([](const Item& i) { return i.chain.first_size; }));
      case 6:
        return compared("last.size", text, value,
                        as([](const Item& i) { return i.chain.last_size; }));
      case 7:
        return compared("address", text, value, as([](const Item& i) { return i.block.address; }));
      case 8:
        return compared("chain.length", text, value,
                        as([](const Item& i) { return i.chain.length; }));
      default:
        return compared("chain.position", text, value,
                        as([](const Item& i) { return i.block.position; }));
    }
  }

  // Whether a block has the same stack as another.
  static bool same_stack(const Item& a, const Item& b) { return a.block.stack == b.block.stack; }

  int64_t count_of(const Item& item, const Holds& holds) const {
    int64_t count = 0;
    for (const Item& other : items_)
      if (same_stack(item, other) && holds(other)) count += other.block.count;
    return count;
  }

  // Blocks without a stack are in no group.
  Said group() {
    const Said said = group_of_any();
    const bool is_unequal = said.text.find("!=") != std::string::npos;
    return {said.text, [holds = said.holds, is_unequal](const Item& item) {
              return item.block.stack ? holds(item) : is_unequal;
            }};
  }

  Said group_of_any() {
    const auto all = [](const Item&) { return true; };
    const int value = random_.below(4);
    const std::string text = std::to_string(value);
    switch (random_.below(5)) {
      case 0:
        return compared("group.count", text, value,
                        [this, all](const Item& i) { return count_of(i, all); });
      case 1:
        return compared("group.leaked", text, value,
                        [this](const Item& i) { return count_of(i, is_leaked); });
      case 2:
        return compared("group.leaked_share", std::to_string(value * 25) + "%", 0,
                        [this, all, value](const Item& i) {
                          return count_of(i, is_leaked) * 100 -
                                 int64_t{value} * 25 * count_of(i, all);
                        });
      case 3:
        return timed("group.span", [this](const Item& item) {
          uint64_t first = UINT64_MAX, last = 0;
          for (const Item& other : items_) {
            if (!same_stack(item, other)) continue;
            first = std::min(first, other.block.allocated_ns);
            last = std::max(last, other.block.allocated_ns);
          }
          return static_cast<int64_t>(last - first);
        });
      default:
        return timed("group.peak_time", [this](const Item& item) {
          return peak_of(items_, [&](const Item& other) { return same_stack(item, other); });
        });
    }
  }

  bool has_frame(RawStackId stack, const std::string& function) const {
    const Recording& recording = random_.run().recording;
    if (!stack) return false;
    for (const LocationId id : recording.frames[stack.index])
      if (recording.locations[id.index].symbols.front().function == function) return true;
    return false;
  }

  Said name_of() {
    constexpr const char* functions[] = {"main", "load", "grow", "clear", "other"};
    const std::string function = functions[random_.below(5)];
    const int how = random_.below(4);
    const std::string value = how < 2 ? "'" + function + "'" : "'^" + function + "$'";
    constexpr const char* signs[] = {" = ", " != ", " ~ ", " !~ "};
    const auto said = [&](const std::string& property, const Holds& holds) {
      return Said{
          property + signs[how] + value,
          [holds, negative = how % 2 == 1](const Item& item) { return holds(item) != negative; }};
    };
    switch (random_.below(5)) {
      case 0:
        return said("free.function", [this, function](const Item& item) {
          return has_frame(item.block.freeing_stack, function);
        });
      case 1:
        return {"process = 812", [](const Item& item) {
                  return item.block.stack.index == 1 || item.block.stack.index == 2 ||
                         item.block.stack.index == 4;
                }};
      case 2:
        return {"thread ~ 'ork'", [](const Item& item) { return item.block.thread.index == 2; }};
      case 3:
        return {"depth >= 2", [](const Item& item) { return item.block.stack.index >= 2; }};
      default:
        return said("function", [this, function](const Item& item) {
          return has_frame(item.block.stack, function);
        });
    }
  }

  Said stack_in() {
    const bool of_free = random_.below(2) == 0;
    const auto stack_of = [of_free](const Item& item) {
      return of_free ? item.block.freeing_stack : item.block.stack;
    };
    const Said part = !named_.empty() && random_.below(2) == 0 ? named_.back() : in_brackets();
    return {(of_free ? "free.stack in " : "stack in ") + part.text,
            [this, stack_of, part = part.holds](const Item& item) {
              return stack_of(item) &&
                     std::any_of(items_.begin(), items_.end(), [&](const Item& other) {
                       return stack_of(other) == stack_of(item) && part(other);
                     });
            }};
  }

  RandomRun& random_;
  Query& query_;
  const Items items_;
  std::vector<Said> named_;
  int depth_ = 0;
};

}  // namespace

TEST_CASE("random selections of random runs are what the documentation says") {
  size_t selected_blocks = 0, all_blocks = 0;
  for (uint64_t seed = 0; seed < scaled(10'000); ++seed) {
    RandomRun random(seed);
    Query query;
    Sentences sentences(random, query);
    for (int lets = random.below(3); lets > 0; --lets) sentences.name();
    const Said said = sentences.any();
    CAPTURE(seed);
    CAPTURE(said.text);
    add_where(query, "--where", said.text);
    const Selection selection = selection_of(query, random.run());
    for (const Item& item : random.items()) {
      const bool is_selected = selection(item.block, item.chain);
      REQUIRE(is_selected == said.holds(item));
      ++all_blocks;
      selected_blocks += is_selected ? 1 : 0;
    }
  }
  // Neither all nor nothing, or the test would say little.
  CHECK(selected_blocks > all_blocks / 5);
  CHECK(selected_blocks < all_blocks - all_blocks / 5);
}
