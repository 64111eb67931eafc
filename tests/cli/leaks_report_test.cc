// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_report.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

LeaksReport small_report() {
  LeaksReport report;
  report.clock = "16:30:01";
  report.seconds = 5;
  report.live = report.old = {4096 + 30000, 11, 0, 0};
  report.stacks = 2;
  ReportedStack stack;
  stack.amount = {30000, 10, 0, 0};
  stack.process = "server (12)";
  stack.frames = {"malloc [libc.so.6]", "main  server.cc:4 [server]"};
  report.top.push_back(stack);
  return report;
}

bpf::call_record call(uint64_t address, uint64_t size, uint64_t old = 0, uint32_t frees = 0) {
  bpf::call_record record{};
  record.time = 2'000'001'000;
  record.tgid = 12;
  record.tid = 13;
  record.address = address;
  record.size = size;
  record.old = old;
  record.frees = frees;
  std::strcpy(record.comm, "worker");
  return record;
}

}  // namespace

TEST_CASE("a first report says what is live, by whom, and what is not shown") {
  CHECK(report_text(small_report(), false) ==
        "[16:30:01] 5.0 s: 33.3 KiB live in 11 blocks on 2 stacks, the top 1 by size\n"
        "  lost 0\n"
        "\n"
        "  29.3 KiB in 10 blocks, server (12)\n"
        "      malloc [libc.so.6]\n"
        "      main  server.cc:4 [server]\n"
        "\n"
        "  and 1 more stack: 4.0 KiB in 1 block\n"
        "\n");
}

TEST_CASE("a report after a scan says to which blocks pointers lead") {
  LeaksReport report = small_report();
  ReachSums& sums = report.top[0].reach.emplace();
  sums.add(Reach::lost, {3000, 1});
  sums.add(Reach::indirect, {6000, 2});
  sums.add(Reach::reachable, {15000, 5});
  sums.add(Reach::unknown, {6000, 2});
  sums.is_exact = false;
  sums.why_unknown = "the process had ended";
  report.top[0].blocks = {{0x1000, 3000, 5'000'000, Reach::indirect}};
  report.reach = {sums,
                  {{.pid = 12,
                    .is_exact = true,
                    .why_not = "",
                    .stopped_s = 0.083,
                    .bytes_read = uint64_t{1} << 30,
                    .bytes_unread = 4096},
                   {.pid = 13,
                    .is_exact = false,
                    .why_not = "it is traced",
                    .stopped_s = 0,
                    .bytes_read = 0,
                    .bytes_unread = 0}}};
  const std::string text = report_text(report, false);
  for (const char* part :
       {"  scanned process 12: stopped for 83 ms, 1.0 GiB read, 4.0 KiB could not be read\n",
        "  not scanned: process 13: it is traced\n",
        "    lost: 3 blocks, 8.8 KiB, no pointer to them; only other lost blocks point to 2",
        "point to 2 blocks, 5.9 KiB of these (indirect)\n",
        "    probably reachable: 5 blocks, 14.6 KiB\n",
        "    cannot tell: 2 blocks, 5.9 KiB: the process had ended\n",
        "    0x1000  3,000 B, 5 ms old, lost (indirect)\n"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  CHECK(in_words(ReachSums{.direct = {100, 1},
                           .indirect = {},
                           .reachable = {},
                           .unknown = {},
                           .is_exact = true,
                           .why_unknown = ""}) ==
        std::vector<std::string>{"lost: 1 block, 100 B, no pointer to it"});
}

TEST_CASE("later ones say what has changed, also when it has become less") {
  LeaksReport report = small_report();
  report.live_before = {34096 + 512, 12, 0, 0};
  report.top[0].before = Amount{};
  std::string text = report_text(report, true);
  CHECK(text.find("34,096 B live in 11 blocks (-512 B, -1 block since the last) on") !=
        std::string::npos);
  CHECK(text.find("30,000 B in 10 blocks (+30,000 B, +10 blocks since the last), server") !=
        std::string::npos);
  report.top[0].before = report.top[0].amount;
  text = report_text(report, true);
  CHECK(text.find("30,000 B in 10 blocks (unchanged since the last), server") != std::string::npos);
}

TEST_CASE("blocks of an age are set apart from all") {
  LeaksReport report = small_report();
  report.older_ns = 500'000'000;
  report.old = {30000, 10, 0, 0};
  report.stacks = 1;
  const std::string text = report_text(report, false);
  CHECK(
      text.starts_with("[16:30:01] 5.0 s: 33.3 KiB live in 11 blocks; older than 500 ms: 29.3 KiB "
                       "in 10 blocks on 1 stack\n"));
  CHECK(text.find("more stack") == std::string::npos);
  report.has_ended = true;
  CHECK(report_text(report, false).find("older than 500 ms or of ended processes: 29.3 KiB") !=
        std::string::npos);
}

TEST_CASE("estimates have their standard error, rounded up") {
  LeaksReport report = small_report();
  report.sampling = "1 in 10 allocations";
  report.top[0].amount.bytes_variance = 99.5 * 99.5;
  report.top[0].amount.blocks_variance = 2;
  const std::string text = report_text(report, true);
  CHECK(text.find("estimated from samples (1 in 10 allocations); ±") != std::string::npos);
  CHECK(text.find("30,000 B ± 100 B in 10 ± 2 blocks") != std::string::npos);
}

TEST_CASE("losses are in each report, and news that are none beside them") {
  LeaksReport report = small_report();
  report.losses.add(Loss::live_table_full, 3, 2048);
  report.losses.add(Loss::ring_full, 1);
  report.losses.add(Loss::free_miss, 1234);
  report.unseen_frees = 5;
  CHECK(
      report_text(report, false)
          .find(
              "\n  lost 4: live table full 3 (2.0 KiB), ring buffer full 1; frees of blocks not "
              "seen to be allocated 1,234; blocks freed unseen, found when allocated again 5\n") !=
      std::string::npos);
}

TEST_CASE("cut stacks are counted apart from what is lost, and notes come before") {
  LeaksReport report = small_report();
  report.notes = {"filtered: only blocks of 9 bytes or more (--min-size)", "killed\x1b[2J"};
  report.losses.add(Loss::ring_full, 1);
  report.losses.add(Loss::truncated_too_deep, 7, 2048);
  report.losses.add(Loss::free_miss, 2);
  const std::string text = report_text(report, false);
  CHECK(text.find("\n  filtered: only blocks of 9 bytes or more (--min-size)\n  killed") !=
        std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\n  lost 1: ring buffer full 1; blocks with a cut stack, too deep 7 (2.0 KiB); "
                  "frees of blocks not seen to be allocated 2\n") != std::string::npos);
}

TEST_CASE("blocks have addresses, sizes and ages, and the number of those left out") {
  LeaksReport report = small_report();
  report.top[0].blocks = {{0x1000, 3000, 2'500'000'000}, {0x2000, 0, 30'000'000}};
  report.top[0].blocks_left_out = 8;
  CHECK(report_text(report, false)
            .find("    0x1000  3,000 B, 2.5 s old\n    0x2000  0 B, 30 ms old\n    and 8 more "
                  "blocks\n") != std::string::npos);
}

TEST_CASE("hostile names neither end lines nor reach the terminal as commands") {
  LeaksReport report = small_report();
  report.top[0].process = "a\nb\x1b[2J (1)";
  report.top[0].frames = {"f\n  lost 99\x1b]0;x\x07"};
  const std::string text = report_text(report, false);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\n  lost 99") == std::string::npos);
  bpf::call_record record = call(1, 2);
  std::memset(record.comm, '\n', sizeof(record.comm));  // and no end
  const std::string line = call_text(record, "f\ng", 0);
  CHECK(line.find('\n') == line.size() - 1);
}

TEST_CASE("calls are lines") {
  CHECK(call_text(call(0x10, 64), "malloc", 1'000'000'000) ==
        "1.000001 12/13 worker  malloc(64) = 0x10\n");
  CHECK(call_text(call(0, 64), "malloc", 3'000'000'000) ==
        "0.000000 12/13 worker  malloc(64) = 0\n");
  CHECK(call_text(call(0x10, 64, 0, 1), "free", 0).ends_with("  free(0x10) 64\n"));
  CHECK(call_text(call(0x10, 0, 0, 1), "free", 0).ends_with("  free(0x10)\n"));
  CHECK(call_text(call(0x20, 100, 0x10), "je_rallocx", 0)
            .ends_with("  je_rallocx(0x10, 100) = 0x20\n"));
  CHECK(call_text(call(0x20, 100), "realloc", 0).ends_with("  realloc(0x0, 100) = 0x20\n"));
}
