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

TEST_CASE("growth that was not read is not known, and parts of it are told") {
  OsLedger os(true);
  CHECK(os.growth());
  bpf::space_record record{};
  record.tgid = 1U << 30;  // no process
  record.reason = bpf::space_fork;
  record.space = 1;
  os.take(record);
  Recording recording;
  os.compare({"VmRSS growth", 0, 0}, recording);
  CHECK_FALSE(os.growth());
  REQUIRE(recording.meta.reconciliation.size() == 1);
  CHECK_FALSE(recording.meta.reconciliation[0].os);
  REQUIRE(recording.meta.notes.size() == 1);
  CHECK(recording.meta.notes[0].starts_with("VmRSS growth is not known"));

  record.space = 2;
  record.has_memory = 1;
  os.take(record);
  record.reason = bpf::space_end;
  os.take(record);
  os.compare({"VmRSS growth", 5, 5}, recording);
  CHECK(os.growth());
  REQUIRE(recording.meta.reconciliation.size() == 2);
  CHECK(recording.meta.reconciliation[1].os == 5);
  REQUIRE(recording.meta.notes.size() == 2);
  CHECK(recording.meta.notes[1].find("leaves out 1 of 2 processes") != std::string::npos);
}

TEST_CASE("spaces that have ended add up to what they were") {
  OsLedger apart(true);
  OsLedger added_up(true);
  added_up.add_up_ended();
  for (OsLedger* os : {&apart, &added_up}) {
    bpf::space_record record{};
    record.tgid = 1U << 30;  // no process
    record.has_memory = 1;
    for (record.space = 1; record.space <= 3; ++record.space) {
      record.has_memory = record.space != 2;
      record.reason = bpf::space_fork;
      record.rss[1] = record.space;
      os->take(record);
      record.reason = bpf::space_end;
      record.rss[1] = 10;
      os->take(record);
    }
  }
  REQUIRE(added_up.growth());
  CHECK(added_up.growth()->rss() == apart.growth()->rss());
  CHECK(added_up.without_figures() == apart.without_figures());
  CHECK(added_up.approximate() == apart.approximate());
  CHECK(added_up.pids() == apart.pids());
  CHECK(added_up.ends() == 3);
  CHECK(added_up.living().empty());
  for (const SpaceId space : {SpaceId{1}, SpaceId{2}, SpaceId{3}}) {
    CHECK(added_up.has_ended(space));
    CHECK(added_up.has_figures(space) == apart.has_figures(space));
  }
}
