// SPDX-License-Identifier: BSD-2-Clause
// Two pieces of work at one time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>

namespace memflame {

// Calls both, the second one on a thread of its own if there are several. Rethrows what one of them
// throws, when both have ended.
template <class First, class Second>
void together(unsigned threads, const First& first, const Second& second) {
  const auto when = threads > 1 ? std::launch::async : std::launch::deferred;
  std::future<void> other = std::async(when, second);
  first();
  other.get();
}

// std::sort() of both halves together, then one merge.
template <class Iterator, class Less>
void sort_together(unsigned threads, Iterator begin, Iterator end, const Less& less) {
  constexpr std::ptrdiff_t little = 1000;  // is not worth a thread
  if (threads == 1 || end - begin < little) return std::sort(begin, end, less);
  const Iterator middle = begin + (end - begin) / 2;
  together(
      threads, [&] { std::sort(begin, middle, less); }, [&] { std::sort(middle, end, less); });
  std::inplace_merge(begin, middle, end, less);
}

}  // namespace memflame
