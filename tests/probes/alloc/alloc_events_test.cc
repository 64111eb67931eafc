// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/alloc_events.h"

#include <doctest/doctest.h>

#include <vector>

#include "core/history.h"
#include "probes/loading/loaded_probe.h"
#include "probes/probe.h"
#include "probes/stacks/stack_log.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// Allocations of one thread number in one process after the other.
class Allocating {
 public:
  void allocate(uint32_t space) {
    const uint64_t key = uint64_t{1} << 63 | space;
    RawStack stack;
    stack.space = SpaceId{space};
    log_.keep(key, std::move(stack));
    bpf::begin_record record{};
    record.tid = 77;
    record.time = ++time_;
    record.block = ++blocks_;
    record.stack = key;
    events_.begin(record, true);
  }
  void end(uint32_t space) { events_.end(SpaceId{space}, ++time_); }
  EventBatch take() {
    EventBatch batch = events_.take(probe_, log_, [] {});
    events_.log().add_threads_to(history_.threads);
    return batch;
  }
  const std::vector<Thread>& threads() const { return history_.threads; }
  AllocEvents& events() { return events_; }

 private:
  LoadedProbe probe_{probes().front()->object()};
  StackLog log_;
  AllocEvents events_{0};
  History history_;
  uint64_t time_ = 0, blocks_ = 0;
};

}  // namespace

TEST_CASE("a thread that has the number of one that has ended is another one") {
  for (const bool ends_before : {false, true}) {
    CAPTURE(ends_before);
    Allocating run;
    run.allocate(1);
    if (ends_before) run.end(1);
    run.take();
    if (!ends_before) run.end(1);
    run.allocate(2);
    const EventBatch batch = run.take();
    const Event& event = batch.events.back();
    REQUIRE(run.threads().size() == 3);
    CHECK(event.thread == ThreadId{2});
    CHECK(run.threads()[1].space == SpaceId{1});
    CHECK(run.threads()[2].space == SpaceId{2});
  }
}

TEST_CASE("numbers of stacks that are forgotten are those of others") {
  Allocating run;
  run.allocate(1);
  run.allocate(2);
  CHECK(run.take().events.back().stack == RawStackId{2});
  const std::vector<uint32_t> first{1};
  run.events().forget(first);
  run.allocate(3);
  CHECK(run.take().events.back().stack == RawStackId{1});
  CHECK(run.events().stack_numbers() == 3);
  run.allocate(1);
  CHECK(run.take().events.back().stack == RawStackId{3});
}
