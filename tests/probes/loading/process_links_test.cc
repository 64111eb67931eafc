// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/process_links.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <utility>

#include "core/error.h"

using namespace memflame;

namespace {

constexpr uint32_t pid = 4194000;  // none that could live
constexpr uint64_t armed = 1000;

bpf::space_record record(bpf::space_reason reason, uint64_t time, uint32_t by = 0) {
  bpf::space_record made = {};
  made.tgid = pid;
  made.reason = reason;
  made.time = time;
  made.by = by;
  return made;
}

bpf::space_record exec(uint64_t time) {
  return record(bpf::space_exec, time, bpf::by_first_thread);
}

bpf::space_record end(uint64_t time) { return record(bpf::space_end, time, bpf::by_nobody); }

}  // namespace

TEST_CASE("a process that ends before its probes come counts once, whatever it has executed") {
  ProcessLinks links;
  links.armed(armed);
  links.take(record(bpf::space_fork, armed + 10));
  links.take(exec(armed + 20));
  links.take(exec(armed + 30));
  links.take(end(armed + 50));
  const LateProcesses late = links.stop();
  CHECK(late.never == 1);
  CHECK(late.probed == 0);
  CHECK(late.ns == 40);
}

TEST_CASE("a process with probes that executes something and ends at once was never without") {
  ProcessLinks links;
  links.add(pid);
  links.armed(armed);
  links.take(exec(armed + 20));
  links.take(end(armed + 30));
  const LateProcesses late = links.stop();
  CHECK(late.never == 0);
  CHECK(late.ns == 0);
}

TEST_CASE("a pid that is used again is another process") {
  ProcessLinks links;
  links.armed(armed);
  links.take(record(bpf::space_fork, armed + 10));
  links.take(end(armed + 20));
  links.take(exec(armed + 30));  // of a name that is wanted
  links.take(end(armed + 35));
  const LateProcesses late = links.stop();
  CHECK(late.never == 2);
  CHECK(late.ns == 15);
  CHECK(late.longest_ns == 10);
}

TEST_CASE("a process that is named after a file gets that file's probes at once") {
  ProcessLinks links;
  FilePuts file;  // of no file, so that the attempt is seen
  file.puts.push_back(
      {.program = [] { return -1; }, .kind = UprobeKind::entry, .sites = {{.offset = 1}}});
  links.add(std::move(file));
  CHECK_THROWS_AS(links.add(::getpid()), Error);
}
