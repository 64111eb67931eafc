// SPDX-License-Identifier: BSD-2-Clause
// A watched process with one thread for the agent's code to work in: what memflame would have
// published, a ring, and a stack with unreadable pages around it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "probes/inside/agent/state.h"

namespace memflame::inside {

class FakeStack {
 public:
  static constexpr uint64_t bytes = 64 << 10, guard_bytes = 1 << 20;

  FakeStack();
  ~FakeStack();
  FakeStack(const FakeStack&) = delete;
  FakeStack& operator=(const FakeStack&) = delete;

  uint64_t low() const { return low_; }
  uint64_t high() const { return low_ + bytes; }
  uint64_t& at(uint64_t address) const { return *reinterpret_cast<uint64_t*>(address); }

 private:
  uint64_t low_;
};

// The agent's `here` is this process as long as it lives.
class FakeProcess {
 public:
  FakeProcess();
  ~FakeProcess();
  FakeProcess(const FakeProcess&) = delete;
  FakeProcess& operator=(const FakeProcess&) = delete;

  // As memflame publishes them. The list begins at the first range and has `count` of them.
  void publish(std::span<const CodeRange> list, std::vector<unwind::row> rows);
  // Any list, right or wrong: see Process::code.
  void set_list(uint64_t first_and_count);
  std::span<CodeRange> ranges() { return ranges_; }

  // A thread that has not walked yet, on the same stack, which writes nothing.
  std::unique_ptr<Thread> new_thread() const;
  Thread& thread() { return *thread_; }
  void use_small_ring() { thread_->ring_bytes = small_ring_bytes; }
  Control& control() { return *control_; }
  Process& shared() { return *process_; }
  FakeStack& stack() { return stack_; }

  // What the thread has written since the last call. memflame has read it then.
  std::vector<uint64_t> taken();

 private:
  FakeStack stack_;
  std::unique_ptr<Control> control_ = std::make_unique<Control>();
  std::unique_ptr<Process> process_ = std::make_unique<Process>();
  std::unique_ptr<RingHead> head_ = std::make_unique<RingHead>();
  std::vector<uint64_t> ring_ = std::vector<uint64_t>(large_ring_bytes / sizeof(uint64_t));
  std::vector<CodeRange> ranges_ = std::vector<CodeRange>(most_code_ranges);
  std::vector<unwind::row> rows_;
  std::unique_ptr<Here> here_ = std::make_unique<Here>();
  std::unique_ptr<Thread> thread_;
};

}  // namespace memflame::inside
