// SPDX-License-Identifier: BSD-2-Clause
#include "probes/system/procfs.h"

#include <doctest/doctest.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "probes/processes/process_name.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("maps lines: ranges, protection, device, names with blanks") {
  const auto lines = parse_maps(
      "55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]\n"
      "7f00a000-7f00b000 r-xs 00002000 fe:1f 1234                       /tmp/a b (deleted)\n"
      "7fff0000-7fff1000 ---p 00000000 00:00 0 \n");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].path == "[heap]");
  CHECK(lines[0].end - lines[0].start == 0x21000);
  CHECK(lines[0].writable);
  CHECK_FALSE(lines[0].executable);
  CHECK(lines[1].path == "/tmp/a b (deleted)");
  CHECK(lines[1].offset == 0x2000);
  CHECK(lines[1].inode == 1234);
  CHECK(lines[1].device == makedev(0xfe, 0x1f));
  CHECK(lines[1].shared);
  CHECK(lines[1].executable);
  CHECK(lines[2].path.empty());
  CHECK_FALSE(lines[2].readable);
}

TEST_CASE("lines that are not maps lines are passed over") {
  CHECK(parse_maps("").empty());
  CHECK(parse_maps("garbage\n\n12-\n12-34\n12-34 r\n12-34 rwxp 0 0:0\n").empty());
}

TEST_CASE("our own process: alive, with memory; the kernel's threads and nobody: not") {
  const auto memory = read_memory(::getpid());
  REQUIRE(memory);
  CHECK(memory->vm_size > memory->rss());
  CHECK(memory->rss() > 0);
  CHECK(is_alive(::getpid()));
  CHECK(has_address_space(::getpid()));
  CHECK_FALSE(read_memory(2).has_value());  // kthreadd, or nothing in a pid namespace
  CHECK_FALSE(read_memory(999999999).has_value());
  CHECK(read_comm(999999999).empty());
}

TEST_CASE("a line of /proc/PID/stat, as far as it goes") {
  const ProcessStat stat =
      parse_stat("77 (a) b (c)) S 1 77 77 0 -1 4194304 1 2 3 4 150 50 30 20 20 0 1 0 5 6 7\n");
  CHECK(stat.state == 'S');
  CHECK(stat.minor_faults == 1);
  CHECK(stat.user_ticks == 150);
  CHECK(stat.system_ticks == 50);
  CHECK(stat.children_ticks == 50);
  CHECK(stat.start_ticks == 5);
  CHECK(parse_stat("").state == 0);
  CHECK(parse_stat("77 (a").state == 0);
  CHECK(parse_stat("77 (a) R 1").state == 'R');
  CHECK(parse_stat("77 (a) R 1").user_ticks == 0);
}

TEST_CASE("a field of /proc/PID/status") {
  const std::string status = "Name:\tx\nNSpid:\t77\t3\nUid:\n";
  CHECK(status_field(status, "NSpid") == "77\t3");
  CHECK(status_field(status, "pid").empty());
  CHECK(status_field(status, "Uid").empty());
}

TEST_CASE("who works, and who sleeps") {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t sleeper = ::fork();
  if (sleeper == 0) {
    ::close(pipe[1]);
    char byte = 0;
    ::_exit(::read(pipe[0], &byte, 1) < 0 ? 1 : 0);
  }
  const pid_t worker = ::fork();
  if (worker == 0) {
    while (::getppid() != 1) continue;
    ::_exit(0);
  }
  while (read_file(proc_path(sleeper, "stat")).find(") S ") == std::string::npos) ::usleep(1000);
  CHECK(working_processes({sleeper, worker, 999999999}) == std::vector<pid_t>{worker});
  ::kill(worker, SIGKILL);
  ::close(pipe[0]);
  ::close(pipe[1]);
  ::waitpid(worker, nullptr, 0);
  ::waitpid(sleeper, nullptr, 0);
}

TEST_CASE("a process is as old as the time that has gone by since it began") {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  };
  const Clock::time_point before = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const Clock::time_point after = Clock::now();
  for (int i = 0; i < 5; ++i) {  // at several places within a second
    ::usleep(300'000);
    const double least = seconds_since(after);
    const double age = age_seconds(child);
    CHECK(age >= least);
    CHECK(age <= seconds_since(before) + 0.01);  // the kernel counts in steps of 10 ms
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(age_seconds(child) == 0);
}

TEST_CASE("a process is called what it was started as") {
  using namespace std::string_view_literals;
  CHECK(started_as("awk", "/usr/bin/mawk\0-f\0x\0"sv) == "awk");  // by a link of that name
  CHECK(started_as("exe", "sed\0-n\0p\0"sv) == "sed");            // an applet of busybox
  CHECK(started_as("7", "/opt/runner\0"sv) == "runner");          // by its descriptor
  CHECK(started_as("exe", "") == "exe");
  CHECK(started_as("exe", "/x/\0"sv) == "exe");
  CHECK(started_as("exe", "nginx: worker process") == "exe");
  CHECK(started_as("exe", std::string(1000, 'x')).size() == 255);
  CHECK(name_of_process(::getpid(), "exe", "sed") == "sed");
  CHECK(name_of_process(::getpid(), "12", "") == "12");  // this is another program
}

TEST_CASE("resident memory and pressure, by the kernel's texts") {
  CHECK(parse_resident("2500 700 300 10 0 400 0\n") == 700 * 4096);
  CHECK(parse_resident("") == 0);
  CHECK(parse_pressure("some avg10=1.25 avg60=0.10 avg300=0.00 total=12\nfull avg10=0.5\n") ==
        1.25);
  CHECK(parse_pressure("") == std::nullopt);
  CHECK(parse_pressure("full avg10=0.5\n") == std::nullopt);
}
