// SPDX-License-Identifier: BSD-2-Clause
#include "core/together.h"

#include <doctest/doctest.h>

#include <functional>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/spin_lock.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("both are done, and what either throws comes out when both have ended") {
  for (const unsigned threads : {1U, 2U}) {
    bool first = false, second = false;
    together(
        threads, [&] { first = true; }, [&] { second = true; });
    CHECK(first);
    CHECK(second);
    bool ended = false;
    CHECK_THROWS_AS(together(
                        threads, [] {}, [] { throw std::runtime_error("second"); }),
                    std::runtime_error);
    CHECK_THROWS_AS(together(
                        2, [] { throw std::runtime_error("first"); }, [&] { ended = true; }),
                    std::runtime_error);
    CHECK(ended);
  }
}

TEST_CASE("an order does not depend on the number of threads") {
  std::minstd_rand random(7);
  for (const size_t size : {0U, 1U, 999U, 1000U, 1001U, 20000U}) {
    std::vector<unsigned> once(size);
    for (unsigned& number : once) number = static_cast<unsigned>(random()) % 500;
    std::vector<unsigned> twice = once;
    sort_together(1, once.begin(), once.end(), std::greater<>());
    sort_together(2, twice.begin(), twice.end(), std::greater<>());
    CHECK(std::is_sorted(once.begin(), once.end(), std::greater<>()));
    CHECK(once == twice);
  }
}

TEST_CASE("one at a time has a spin lock") {
  SpinLock lock;
  size_t count = 0;
  constexpr size_t each = 100'000;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (size_t n = 0; n < each; ++n) {
          const std::lock_guard held(lock);
          ++count;
        }
      });
  }
  CHECK(count == 4 * each);
  CHECK(lock.try_lock());
  CHECK_FALSE(lock.try_lock());
  lock.unlock();
}
