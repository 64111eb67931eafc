// SPDX-License-Identifier: BSD-2-Clause
// Calls of all kinds: direct, virtual, through std::function, as a jump, and back from the C and
// C++ libraries.
#include <algorithm>
#include <cstdlib>
#include <functional>

#include "examples/no_frame_pointer/sites.h"

namespace chain {

OWN_FRAME void third() { event(); }
OWN_FRAME void second() {
  third();
  keep();
}
OWN_FRAME void first() {
  second();
  keep();
}

struct Shape {
  virtual ~Shape() = default;
  virtual void draw() = 0;
};
struct Circle : Shape {
  void draw() override;
};
struct Square : Circle {
  void draw() override;
};
OWN_FRAME void Circle::draw() { event(); }
OWN_FRAME void Square::draw() {
  Circle::draw();
  keep();
}
OWN_FRAME void draws(Shape& shape) {
  shape.draw();
  keep();
}
OWN_FRAME void calls_virtually() {
  Square square;
  draws(square);
  keep();
}

OWN_FRAME void behind_function(int) { event(); }
OWN_FRAME void calls(const std::function<void(int)>& function) {
  function(7);
  keep();
}
OWN_FRAME void calls_function() {
  const long captured[4] = {1, 2, 3, 4};
  calls([captured](int number) {
    behind_function(static_cast<int>(captured[0]) + number);
    keep(captured);
  });
  keep();
}

// tail_caller() ends in a jump, so it is in no stack.
OWN_FRAME void tail_called() { event(); }
OWN_FRAME void tail_caller() { tail_called(); }
OWN_FRAME void calls_tail_caller() {
  tail_caller();
  keep();
}

bool compared = false;  // one event for each sorting or searching
int numbers[600];

OWN_FRAME int compare(const void* left, const void* right) {
  if (!compared) event();
  compared = true;
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}
OWN_FRAME void shuffle() {
  compared = false;
  unsigned state = 1;
  for (int& number : numbers)
    number = static_cast<int>((state = state * 1664525 + 1013904223) >> 8);
}
OWN_FRAME int compare_few(const void* left, const void* right) {
  const int order = compare(left, right);
  keep();
  return order;
}
OWN_FRAME int compare_many(const void* left, const void* right) {
  if (!compared) event();
  compared = true;
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}
OWN_FRAME int compare_found(const void* left, const void* right) {
  if (!compared) event();
  compared = true;
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}
// The C library sorts few numbers on the stack, and more in a block that it allocates.
OWN_FRAME void sorts_few() {
  shuffle();
  qsort(numbers, 100, sizeof numbers[0], compare_few);
  keep();
}
OWN_FRAME void sorts_many() {
  shuffle();
  qsort(numbers, std::size(numbers), sizeof numbers[0], compare_many);
  keep();
}
OWN_FRAME void searches() {
  compared = false;
  const int wanted = numbers[50];
  keep(bsearch(&wanted, numbers, std::size(numbers), sizeof numbers[0], compare_found));
}
OWN_FRAME bool orders(int left, int right) {
  if (!compared) event();
  compared = true;
  return left < right;
}
OWN_FRAME void sorts_with_lambda() {
  shuffle();
  std::sort(std::begin(numbers), std::end(numbers),
            [](int left, int right) { return orders(left, right); });
  keep();
}

namespace {
constexpr Site list[] = {
    {"chain::third()", "chain::second();chain::first()" TO_MAIN, first, 1},
    {"chain::Circle::draw()",
     "chain::Square::draw();chain::draws(chain::Shape&);chain::calls_virtually()" TO_MAIN,
     calls_virtually, 1},
    {"chain::behind_function(int)",
     "+;chain::calls(std::function<void (int)> const&);chain::calls_function()" TO_MAIN,
     calls_function, 1},
    // The copy of the lambda's captures.
    {"chain::calls_function()", "chain::one_round();main;+;_start", nullptr, 0},
    {"chain::tail_called()", "chain::calls_tail_caller()" TO_MAIN, calls_tail_caller, 1},
    {"chain::compare(void const*, void const*)",
     "chain::compare_few(void const*, void const*);+;chain::sorts_few()" TO_MAIN, sorts_few, 1},
    {"chain::compare_many(void const*, void const*)", "+;chain::sorts_many()" TO_MAIN, sorts_many,
     1},
    {"chain::sorts_many()", "chain::one_round();main;+;_start", nullptr, 0},
    {"chain::compare_found(void const*, void const*)", "*;chain::searches()" TO_MAIN, searches, 1},
    {"chain::orders(int, int)", "*;chain::sorts_with_lambda()" TO_MAIN, sorts_with_lambda, 1},
};
}  // namespace

std::span<const Site> call_sites() { return list; }

}  // namespace chain
