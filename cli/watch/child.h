// SPDX-License-Identifier: BSD-2-Clause
// A process of memflame's own that does one part of the work of `memflame watch`.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace memflame {

// Forks a process that runs `work`, and ends with what that returns. It gets SIGTERM when this
// process ends, however that happens, and has the signals' usual effects. Call it while there is
// one thread. Throws Error.
pid_t start_child(const char* name, const std::function<int()>& work);

// A text that a child leaves for the process that started it; at most 4,000 bytes of it.
class SharedText {
 public:
  SharedText();  // throws Error
  ~SharedText();
  SharedText(const SharedText&) = delete;
  SharedText& operator=(const SharedText&) = delete;

  void set(std::string_view text);
  std::string take();  // once its writer has ended

 private:
  char* text_ = nullptr;
};

// A number that processes share: one writes it, and its children read it.
class SharedNumber {
 public:
  explicit SharedNumber(double value);  // throws Error
  ~SharedNumber();
  SharedNumber(const SharedNumber&) = delete;
  SharedNumber& operator=(const SharedNumber&) = delete;

  void set(double value) { value_->store(value, std::memory_order_relaxed); }
  double get() const { return value_->load(std::memory_order_relaxed); }

 private:
  std::atomic<double>* value_ = nullptr;
};

// Processor time of a process and of those that it has waited for, in seconds; 0 if it is gone.
double processor_seconds_of(pid_t pid);

}  // namespace memflame
