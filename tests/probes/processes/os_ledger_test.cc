// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/os_ledger.h"

#include <doctest/doctest.h>

#include <vector>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("a space that was forgotten has ended, and has no figures") {
  constexpr SpaceId ended{1}, living{2};
  OsLedger os(true);
  bpf::space_record record{};
  record.tgid = 1U << 30;  // no process
  for (const SpaceId space : {ended, living}) {
    record.space = space.index;
    record.reason = bpf::space_fork;
    os.take(record);
  }
  record.space = ended.index;
  record.reason = bpf::space_end;
  os.take(record);
  REQUIRE(os.without_figures() == 2);

  os.forget(std::vector{ended, living});
  CHECK(os.has_ended(ended));
  CHECK_FALSE(os.has_ended(living));
  CHECK(os.without_figures() == 1);
  CHECK(os.living_spaces().size() == 1);
  CHECK(os.ends() == 1);
}
