// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/looks.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <map>

#include "probes/processes/processes.h"
#include "probes/run/rows.h"
#include "probes/run/run_figures.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr SpaceId space{1};

// A process with a stack for each of its allocations, which ends when it is told to.
class EndingProcess : public RunFigures {
 public:
  EndingProcess() {
    processes_.spaces().adopt(space, ::getpid(), 1);
    allocate(11, 100);
  }

  const StackLog& stacks() const override { return log_; }
  const Processes& processes() const override { return processes_; }
  void catch_up() override {}
  void add_figures(size_t, std::span<const ValueType>, Rows& rows) override {
    for (const auto& [key, bytes] : live_) rows.add(key, "", {bytes}, 1);
    if (ends_while_read_) end();
  }
  void for_each_block(const VisitBlock&) override {}
  void for_each_sum(const VisitSum&) override {}
  uint64_t unseen_frees() const override { return 0; }

  void allocate(uint64_t key, int64_t bytes) {
    RawStack stack;
    stack.space = space;
    stack.pcs = {{key, false}};
    log_.keep(key, std::move(stack));
    live_[key] = bytes;
  }
  void ends_while_figures_are_read() { ends_while_read_ = true; }

 private:
  void end() {
    ends_while_read_ = false;
    allocate(22, 200);
    processes_.spaces().end(space, monotonic_ns());
  }

  Processes processes_{Target{}, true, Processes::Log::none};
  StackLog log_;
  std::map<uint64_t, int64_t> live_;
  bool ends_while_read_ = false;
};

}  // namespace

TEST_CASE("a process ends in the look that has all of its figures") {
  EndingProcess figures;
  Looks looks({{"alloc", true, {{"live", Unit::bytes}}}}, monotonic_ns());
  History history;
  CHECK(looks.take(figures, history, false).ended.empty());

  figures.ends_while_figures_are_read();
  const Look during = looks.take(figures, history, false);
  CHECK(during.ended.empty());
  CHECK(during.rows.empty());

  const Look after = looks.take(figures, history, false);
  CHECK(after.rows.size() == 1);
  CHECK(after.ended == std::vector{space});
  CHECK(looks.take(figures, history, false).ended.empty());
}
