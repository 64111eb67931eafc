// SPDX-License-Identifier: BSD-2-Clause
// Uses the allocators of custom_pairs.h in named functions, for a profiler to which they are
// declared. Bytes are what the caller asked for.
#include <cstdint>
#include <new>

#include "examples/custom_pairs.h"
#include "examples/truth/report.h"

namespace {

volatile size_t impossible = size_t{1} << 40;
volatile int refused_kind = -1;
void* volatile sink = nullptr;
void* volatile ints = reinterpret_cast<void*>(custom_array32);
void* older = nullptr;
void* to_grow = nullptr;
void* to_vanish = nullptr;
void* to_fail = nullptr;
char pool_names[3];  // a pool is an address, no more

CustomPool* pool(int index) { return reinterpret_cast<CustomPool*>(&pool_names[index]); }

void* keep(void* block) {
  if (block == nullptr) truth::fail("an allocation failed");
  sink = block;
  return block;
}
void expect_null(void* block) {
  if (block != nullptr) truth::fail("an impossible allocation succeeded");
}

}  // namespace

extern "C" {

// 40 bytes in all, 25 of them freed, 15 left.
[[gnu::noinline]] void ten_and_twice_fifteen() {
  custom_free(keep(custom_alloc(10)));
  void* second = keep(custom_alloc(15));
  keep(custom_alloc(15));
  custom_free(second);
}
[[gnu::noinline]] void impossible_block() { expect_null(custom_alloc(impossible)); }
[[gnu::noinline]] void free_of_older() {
  custom_free(older);
  custom_free(nullptr);
}

[[gnu::noinline]] void arrays() {
  for (int i = 0; i < 5; ++i) keep(custom_array(7, 100));
  expect_null(custom_array(impossible, impossible));
}
// Only the lower halves of the argument registers count.
[[gnu::noinline]] void arrays_of_ints() {
  const auto with_whole_registers = reinterpret_cast<void* (*)(long, long)>(ints);
  for (int i = 0; i < 3; ++i) custom_free(keep(with_whole_registers(0x700000000 + 11, 10)));
  keep(with_whole_registers(4, 0x900000000 + 50));
}

[[gnu::noinline]] void created() {
  void* block = nullptr;
  for (int i = 0; i < 4; ++i) {
    if (custom_create(&block, i, 300) != 0) truth::fail("custom_create failed");
    if (i == 3) custom_release(i, keep(block));
  }
}
[[gnu::noinline]] void not_created() {
  void* block = &older;  // must not be taken for a result
  if (custom_create(&block, refused_kind, 300) == 0) truth::fail("custom_create succeeded");
}

[[gnu::noinline]] void allocates_to_resize() {
  to_grow = keep(custom_resize(nullptr, 100));
  to_vanish = keep(custom_resize(nullptr, 200));
  to_fail = keep(custom_resize(nullptr, 400));
}
[[gnu::noinline]] void grows() { to_grow = keep(custom_resize(to_grow, 1000)); }
[[gnu::noinline]] void vanishes() { expect_null(custom_resize(to_vanish, 0)); }
[[gnu::noinline]] void fails_to_grow() { expect_null(custom_resize(to_fail, impossible)); }

[[gnu::noinline]] void thrown() {
  for (int i = 0; i < 3; ++i) keep(custom_throwing(60));
  int caught = 0;
  for (int i = 0; i < 3; ++i) try {
      keep(custom_throwing(impossible));
    } catch (const std::bad_alloc&) {
      ++caught;
    }
  if (caught != 3) truth::fail("an exception was not thrown");
}

[[gnu::noinline]] void wrapped() {
  for (int i = 0; i < 6; ++i) keep(custom_wrapped(50));
}

[[gnu::noinline]] void fills_pools() {
  for (int i = 0; i < 30; ++i) keep(custom_pool_alloc(pool(i % 3), 20));
}
[[gnu::noinline]] void fills_again() { keep(custom_pool_alloc(pool(0), 70)); }
[[gnu::noinline]] void clears_one() { custom_pool_clear(pool(0)); }
[[gnu::noinline]] void destroys_one() { custom_pool_destroy(pool(1)); }

}  // extern "C"

namespace {

struct Site {
  const char* name;
  void (*run)();
  int64_t live, live_count, total, total_count;
};

constexpr Site sites[] = {
    {"ten_and_twice_fifteen", ten_and_twice_fifteen, 15, 1, 40, 3},
    {"impossible_block", impossible_block, 0, 0, 0, 0},
    {"free_of_older", free_of_older, 0, 0, 0, 0},
    {"arrays", arrays, 3500, 5, 3500, 5},
    {"arrays_of_ints", arrays_of_ints, 200, 1, 530, 4},
    {"created", created, 900, 3, 1200, 4},
    {"not_created", not_created, 0, 0, 0, 0},
    {"allocates_to_resize", allocates_to_resize, 400, 1, 700, 3},
    {"grows", grows, 1000, 1, 1000, 1},
    {"vanishes", vanishes, 0, 0, 0, 0},
    {"fails_to_grow", fails_to_grow, 0, 0, 0, 0},
    {"thrown", thrown, 180, 3, 180, 3},
    {"wrapped", wrapped, 300, 6, 300, 6},
    {"fills_pools", fills_pools, 200, 10, 600, 30},
    {"clears_one", clears_one, 0, 0, 0, 0},
    {"fills_again", fills_again, 70, 1, 70, 1},
    {"destroys_one", destroys_one, 0, 0, 0, 0},
};

}  // namespace

int main(int argc, char** argv) {
  older = keep(custom_alloc(111));
  keep(custom_call_twins(5));
  // The C++ library allocates at its first exception; that happens before "ready".
  try {
    custom_throwing(impossible);
  } catch (const std::bad_alloc&) {
  }
  truth::begin(argc, argv);
  for (const Site& site : sites) {
    site.run();
    truth::state("functions", site.name, "live", site.live);
    truth::state("functions", site.name, "live_count", site.live_count);
    truth::state("functions", site.name, "total", site.total);
    truth::state("functions", site.name, "total_count", site.total_count);
  }
  truth::state("counters", "free_miss", "events", 1);  // `older`
  truth::state("counters", "exceptions", "events", 3);
  return truth::end();
}
