// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/attach_lock.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/error.h"

using namespace memflame;
using inside::AttachLock;

TEST_CASE("one has the lock of a process, until it lets go") {
  std::optional<AttachLock> first = AttachLock::take(::getpid(), 0);
  REQUIRE(first);
  CHECK_FALSE(AttachLock::take(::getpid(), 2'000'000));
  CHECK(AttachLock::take(::getppid(), 0));  // another process
  first.reset();
  CHECK(AttachLock::take(::getpid(), 0));
}

TEST_CASE("a process that is not there has no lock") {
  CHECK_THROWS_AS(AttachLock::take(1 << 30, 0), Error);
}
