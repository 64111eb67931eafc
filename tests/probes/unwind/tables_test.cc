// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/tables.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstdlib>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("the caller goes on with its work while tables are made, and they are the same") {
  // No cache, so that it takes a while.
  REQUIRE(::setenv("XDG_CACHE_HOME", "/proc/no such folder", 1) == 0);
  Module module;
  module.kind = ModuleKind::file;
  module.file = SharedFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const std::vector<std::pair<ModuleId, const Module*>> modules{{ModuleId{1}, &module}};
  unwind::Tables alone;
  alone.make(modules);
  unwind::Tables meanwhile;
  int calls = 0;
  meanwhile.make(modules, [&] { ++calls; });
  CHECK(calls > 0);
  CHECK(meanwhile.rows_made() > 1000);
  CHECK(meanwhile.rows_made() == alone.rows_made());
  CHECK(meanwhile.statistics().built == 1);
}
