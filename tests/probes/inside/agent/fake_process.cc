// SPDX-License-Identifier: BSD-2-Clause
#include "tests/probes/inside/agent/fake_process.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "probes/inside/agent/filter.h"
#include "probes/inside/agent/python.h"
#include "probes/inside/agent/sampling.h"
#include "probes/inside/agent/sys.h"

namespace memflame::inside {

// What the agent's python.cc defines: there is no Python.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
Python python;

// What its filter.cc defines, without the hooks that are in there.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
uint32_t filtered;
void rest_a_little(uint32_t microseconds, uint64_t /*ticks_per_ms*/) { nap(microseconds); }

// What its join.cc defines.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
Here* here;
Timing timing;
__thread Thread* self __attribute__((tls_model("initial-exec")));
Here* begin_process() { return here; }

FakeStack::FakeStack() {
  constexpr uint64_t all = bytes + 2 * guard_bytes;
  void* const memory =
      ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  low_ = reinterpret_cast<uint64_t>(memory) + guard_bytes;
  if (memory == MAP_FAILED ||
      ::mprotect(reinterpret_cast<void*>(low_), bytes, PROT_READ | PROT_WRITE) != 0)
    std::abort();
}

FakeStack::~FakeStack() {
  ::munmap(reinterpret_cast<void*>(low_ - guard_bytes), bytes + 2 * guard_bytes);
}

FakeProcess::FakeProcess() {
  control_->max_depth = 512;
  control_->reading = 1;
  timing = {
      .ticks_per_ms = 1'000'000, .max_wait_ms = 0, .patience_ms = UINT32_MAX};  // nothing waits
  process_->answered = INT32_MAX;                                               // whatever is asked
  here_->control = control_.get();
  here_->process = process_.get();
  here_->ranges = ranges_.data();
  here_->phase = phase_idle;
  here_->generation = 1;
  here = here_.get();
  sampling = {};
  sampling.keeps_all = 1;
  thread_ = new_thread();
  thread_->ring_bytes = large_ring_bytes;
  thread_->head = head_.get();
  thread_->records = reinterpret_cast<uint8_t*>(ring_.data());
}

FakeProcess::~FakeProcess() {
  here = nullptr;
  self = nullptr;
}

void FakeProcess::publish(std::span<const CodeRange> list, std::vector<unwind::row> rows) {
  std::copy(list.begin(), list.end(), ranges_.begin());
  rows.shrink_to_fit();
  rows_ = std::move(rows);
  here_->rows = rows_.data();
  here_->row_count = rows_.size();
  set_list(uint64_t{list.size()} << 32);
}

void FakeProcess::set_list(uint64_t first_and_count) {
  process_->code = first_and_count;
  ++process_->generation;
}

std::unique_ptr<Thread> FakeProcess::new_thread() const {
  auto thread = std::make_unique<Thread>();
  thread->phase = phase_idle;
  thread->own_low = stack_.low();
  thread->own_high = stack_.high();
  return thread;
}

std::vector<uint64_t> FakeProcess::taken() {
  std::vector<uint64_t> words;
  uint64_t& at = head_->tail;
  const uint32_t bytes = thread_->ring_bytes;
  const auto word = [&] { return ring_[at % bytes / sizeof(uint64_t)]; };
  if (at != head_->head && kind_of(word()) == kind_pad) at += bytes - at % bytes;
  for (; at != head_->head; at += sizeof(uint64_t)) words.push_back(word());
  return words;
}

}  // namespace memflame::inside
