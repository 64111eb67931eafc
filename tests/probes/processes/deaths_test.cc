// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/deaths.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

bpf::space_record end_of(uint32_t pid, uint32_t status, bool out_of_memory = false) {
  bpf::space_record record{};
  record.reason = bpf::space_end;
  record.tgid = pid;
  record.exit_status = status;
  record.out_of_memory = out_of_memory;
  std::memset(record.comm, 'x', sizeof(record.comm));  // and no end
  return record;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("who was killed, by which signal, and for want of memory") {
  Deaths deaths;
  deaths.take(end_of(7, 9));
  deaths.take(end_of(8, 11 | 0x80));  // with a core file
  deaths.take(end_of(9, 9, true));
  CHECK(deaths.notes() ==
        Lines{"process 7 (xxxxxxxxxxxxxxxx) was killed by signal 9 (SIGKILL)",
              "process 8 (xxxxxxxxxxxxxxxx) was killed by signal 11 (SIGSEGV)",
              "process 9 (xxxxxxxxxxxxxxxx) was killed by the kernel, which was out of memory: "
              "signal 9 (SIGKILL)"});
}

TEST_CASE("processes that exit, and those that become another program, were not killed") {
  Deaths deaths;
  deaths.take(end_of(7, 3 << 8));
  deaths.take(end_of(7, 0));
  bpf::space_record begins = end_of(8, 9);
  begins.reason = bpf::space_fork;
  deaths.take(begins);
  CHECK(deaths.notes().empty());
}

TEST_CASE("only the first are named, and the others are counted") {
  Deaths deaths;
  for (uint32_t pid = 1; pid <= 1006; ++pid) deaths.take(end_of(pid, 15));
  const Lines notes = deaths.notes();
  REQUIRE(notes.size() == 5);
  CHECK(notes[3] == "process 4 (xxxxxxxxxxxxxxxx) was killed by signal 15 (SIGTERM)");
  CHECK(notes[4] == "1,002 more processes were killed by signals");
}
