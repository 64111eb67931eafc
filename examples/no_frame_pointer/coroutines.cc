// SPDX-License-Identifier: BSD-2-Clause
// Coroutines: the body runs on the stack of whoever resumes it.
#include <coroutine>
#include <exception>

#include "examples/no_frame_pointer/sites.h"

namespace chain {

struct Generator {
  struct promise_type {
    int value = 0;
    Generator get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int next) {
      value = next;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
};

// A task that resumes its waiter directly, not through the code that resumed the task.
struct Task {
  struct promise_type {
    std::coroutine_handle<> waiting = std::noop_coroutine();
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) noexcept {
        return done.promise().waiting;
      }
      void await_resume() noexcept {}
    };
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;

  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) const {
    handle.promise().waiting = waiting;
    return handle;
  }
  void await_resume() const {}
};

OWN_FRAME void in_generator() { event(); }
OWN_FRAME Generator generates(int count) {
  for (int i = 0; i < count; ++i) {
    in_generator();
    co_yield i;
  }
}
OWN_FRAME void drives_generator() {
  const Generator generator = generates(3);
  for (generator.handle.resume(); !generator.handle.done(); generator.handle.resume())
    keep(&generator);
  generator.handle.destroy();
  keep();
}

OWN_FRAME void in_awaited() { event(); }
OWN_FRAME Task is_awaited() {
  in_awaited();
  co_return;
}
OWN_FRAME void after_awaited() { event(); }
OWN_FRAME Task awaits() {
  const Task inner = is_awaited();
  co_await inner;
  after_awaited();
  inner.handle.destroy();
}
OWN_FRAME void resumes_task() {
  const Task task = awaits();
  task.handle.resume();
  task.handle.destroy();
  keep();
}

OWN_FRAME void before_throw() { event(); }
OWN_FRAME Generator generates_exception() {
  before_throw();
  throw 1;
  co_return;
}
OWN_FRAME void caught_from_coroutine() { event(); }
OWN_FRAME void catches_from_coroutine() {
  const Generator generator = generates_exception();
  try {
    generator.handle.resume();
  } catch (int) {
    caught_from_coroutine();
  }
  generator.handle.destroy();
  keep();
}

namespace {
constexpr Site list[] = {
    // The frames of coroutines are allocated where they are called.
    {"chain::generates(int)", "chain::drives_generator()" TO_MAIN, nullptr, 0},
    {"chain::in_generator()", "chain::generates*;chain::drives_generator()" TO_MAIN,
     drives_generator, 3},
    {"chain::awaits()", "chain::resumes_task()" TO_MAIN, nullptr, 0},
    {"chain::is_awaited()", "chain::awaits*;chain::resumes_task()" TO_MAIN, nullptr, 0},
    {"chain::in_awaited()", "chain::is_awaited*;chain::resumes_task()" TO_MAIN, resumes_task, 1},
    {"chain::after_awaited()", "chain::awaits*;chain::resumes_task()" TO_MAIN, nullptr, 1},
    {"chain::generates_exception()", "chain::catches_from_coroutine()" TO_MAIN, nullptr, 0},
    {"chain::before_throw()", "chain::generates_exception*;chain::catches_from_coroutine()" TO_MAIN,
     catches_from_coroutine, 1},
    {"chain::generates_exception*", "chain::catches_from_coroutine()" TO_MAIN, nullptr, 0},
    {"chain::caught_from_coroutine()", "chain::catches_from_coroutine()" TO_MAIN, nullptr, 1},
};
}  // namespace

std::span<const Site> coroutine_sites() { return list; }

}  // namespace chain
