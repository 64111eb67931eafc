// SPDX-License-Identifier: BSD-2-Clause
// Events while exceptions fly: where they are thrown, in destructors on the way, and where they are
// caught and examined.
#include <exception>
#include <utility>

#include "examples/no_frame_pointer/sites.h"

namespace chain {

class Problem : public std::exception {
 public:
  OWN_FRAME const char* what() const noexcept override {
    event();
    return "a problem";
  }
};

struct Guard {
  ~Guard();
};
OWN_FRAME Guard::~Guard() { event(); }

// The exception itself is allocated here.
OWN_FRAME void throws() { throw Problem(); }
// The destructor runs in a part of this function that the compiler has put elsewhere.
OWN_FRAME void holds_guard() {
  const Guard guard;
  throws();
  keep(&guard);
}
OWN_FRAME void in_catch() { event(); }
OWN_FRAME void rethrows() {
  try {
    holds_guard();
  } catch (const Problem&) {
    in_catch();
    throw;
  }
  keep();
}
OWN_FRAME void in_outer_catch(const std::exception& problem) {
  event();
  keep(problem.what());
}
OWN_FRAME void catches() {
  try {
    rethrows();
  } catch (const std::exception& problem) {
    in_outer_catch(problem);
  }
  keep();
}

// Caught by value: the copy is made between the throw and the handler.
struct Copied {
  int number = 0;
  Copied() = default;
  Copied(const Copied& other);
};
OWN_FRAME Copied::Copied(const Copied& other) : number(other.number) { event(); }
OWN_FRAME void throws_copied() { throw Copied(); }
OWN_FRAME void catches_by_value() {
  try {
    throws_copied();
  } catch (
      Copied copied) {  // NOLINT(misc-throw-by-value-catch-by-reference): the copy is the point
    keep(&copied);
  }
  keep();
}

// Kept as an exception_ptr and thrown again by the library.
OWN_FRAME void in_later_catch() { event(); }
OWN_FRAME void throws_later(std::exception_ptr problem) {
  std::rethrow_exception(std::move(problem));
}
OWN_FRAME void catches_later() {
  std::exception_ptr kept;
  try {
    throws_copied();
  } catch (...) {
    kept = std::current_exception();
  }
  try {
    throws_later(kept);
  } catch (const Copied&) {
    in_later_catch();
  }
  keep();
}

namespace {
constexpr Site list[] = {
    {"chain::throws()", "chain::holds_guard();chain::rethrows();chain::catches()" TO_MAIN, nullptr,
     0},
    {"chain::Guard::~Guard()", "chain::holds_guard();chain::rethrows();chain::catches()" TO_MAIN,
     catches, 1},
    {"chain::in_catch()", "chain::rethrows();chain::catches()" TO_MAIN, nullptr, 1},
    {"chain::in_outer_catch(std::exception const&)", "chain::catches()" TO_MAIN, nullptr, 1},
    {"chain::Problem::what() const",
     "chain::in_outer_catch(std::exception const&);chain::catches()" TO_MAIN, nullptr, 1},
    {"chain::Copied::Copied(chain::Copied const&)", "chain::catches_by_value()" TO_MAIN,
     catches_by_value, 1},
    // Thrown once, caught twice.
    {"chain::throws_copied()", "chain::catches_by_value()|chain::catches_later()" TO_MAIN, nullptr,
     0},
    {"chain::in_later_catch()", "chain::catches_later()" TO_MAIN, catches_later, 1},
    {"chain::throws_later(std::__exception_ptr::exception_ptr)", "chain::catches_later()" TO_MAIN,
     nullptr, 0},
};
}  // namespace

std::span<const Site> exception_sites() { return list; }

}  // namespace chain
