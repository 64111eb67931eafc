// SPDX-License-Identifier: BSD-2-Clause
#include "probes/stacks/stack_log.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t key = uint64_t{1} << 63 | 42;

const RawStack* announce(StackLog& log, uint64_t time) {
  auto record = std::make_unique<bpf::stack_record>();
  record->space = 3;
  record->hash = key;
  record->time = time;
  record->frames = 1;
  record->pcs[0] = 0x1000;
  Scripts scripts;
  return log.announced(*record, sizeof(*record), scripts);
}

// The first column of the copied stack, of one probe.
int64_t amount(const StackLog& log, uint32_t probe) {
  int64_t sum = 0;
  log.for_each_amount(probe, [&](uint64_t, const StackLog::Values& values) { sum += values[0]; });
  return sum;
}

}  // namespace

TEST_CASE("a stack that several probes announce is seen when the first of them saw it") {
  StackLog log;
  CHECK(announce(log, 70)->time_ns == 70);
  CHECK(announce(log, 90)->time_ns == 70);
  CHECK(announce(log, 50)->time_ns == 50);
  CHECK(log.stack_of(key).pcs.size() == 1);
}

TEST_CASE("the figures of copied stacks are kept for each probe") {
  StackLog log;
  log.add(0, {.type = bpf::record_amount, .column = 0, .key = key, .value = 5});
  log.add(2, {.type = bpf::record_amount, .column = 0, .key = key, .value = 7});
  log.add(2, {.type = bpf::record_amount, .column = 0, .key = key, .value = 1});
  log.add(2, {.type = bpf::record_amount, .column = bpf::columns, .key = key, .value = 1});
  CHECK(amount(log, 0) == 5);
  CHECK(amount(log, 1) == 0);
  CHECK(amount(log, 2) == 8);
}

TEST_CASE("copied stacks with equal addresses are two if other code lies there") {
  StackLog log;
  RawStack stack;
  stack.space = SpaceId{1};
  stack.pcs = {{0x2000, false}, {0x3000, true}};
  log.copied(key + 1, RawStack(stack));
  log.copied(key + 2, RawStack(stack), std::array<LaterCode, 1>{{{0x1000, 0x2000, 7, {}}}});
  log.copied(key + 3, RawStack(stack), std::array<LaterCode, 1>{{{0x2fff, 0x3000, 7, {}}}});
  CHECK(log.known_as(key + 1) == log.known_as(key + 2));
  CHECK(log.known_as(key + 1) != log.known_as(key + 3));
}

TEST_CASE("stacks of spaces that are gone are given back with their figures") {
  static constexpr SpaceId gone{3}, living{4};
  constexpr uint64_t copied = key + 1, other = key + 2;
  StackLog log;
  announce(log, 70);
  RawStack copy;
  copy.space = gone;
  copy.pcs = {{0x2000, false}};
  log.copied(copied, RawStack(copy));
  log.add(0, {.type = bpf::record_amount, .column = 0, .key = copied, .value = 5});
  copy.space = living;
  log.copied(other, std::move(copy));
  log.add(0, {.type = bpf::record_amount, .column = 0, .key = other, .value = 7});

  const auto is_gone = [](SpaceId space) { return space == gone; };
  const std::vector<uint64_t> keys = log.forget(is_gone);
  CHECK(keys.size() == 3);  // the announced stack, the copied one, and its copy
  CHECK(std::count(keys.begin(), keys.end(), key) == 1);
  CHECK(std::count(keys.begin(), keys.end(), copied) == 1);
  CHECK(log.find(key) == nullptr);
  CHECK(log.find(copied) == nullptr);
  CHECK(log.find(other) != nullptr);
  CHECK(amount(log, 0) == 7);
  CHECK(log.forget(is_gone).empty());
}
