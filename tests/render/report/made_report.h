// SPDX-License-Identifier: BSD-2-Clause
// Reports of runs that never took place.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "core/report.h"

namespace memflame {

inline constexpr uint64_t made_second = 1'000'000'000;
inline constexpr const char* hostile_name = "</script><script>alert('name')</script>";

// Collects blocks into the rows and shapes of a report.
class MadeBlocks {
 public:
  explicit MadeBlocks(Report& report) : report_(report) {}

  // `count` blocks of `size` bytes; freed_ns is 0 for those that stay.
  void add(StackId stack, uint64_t born_ns, uint64_t freed_ns, int64_t size, int64_t count) {
    const uint32_t born = bin_of(born_ns),
                   freed = freed_ns == 0 ? ReportRow::never : bin_of(freed_ns);
    const std::array<int64_t, 2> figures{size * count, count};
    auto& row = rows_[{stack.index, born, freed}];
    const uint64_t lifetime = (freed_ns == 0 ? report_.edges.back() : freed_ns) - born_ns;
    auto& shape = shapes_[{class_of(lifetime), class_of(static_cast<uint64_t>(size)), born, freed}];
    for (size_t i = 0; i < figures.size(); ++i) {
      row[i] += figures[i];
      shape[i] += figures[i];
    }
    report_.profile.add(stack, figures);
  }

  void finish() {
    for (const auto& [key, figures] : rows_) {
      report_.rows.push_back({StackId{std::get<0>(key)}, std::get<1>(key), std::get<2>(key)});
      report_.values.insert(report_.values.end(), figures.begin(), figures.end());
    }
    for (const auto& [key, figures] : shapes_)
      report_.shapes.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key),
                                std::get<3>(key), figures[0], figures[1]});
  }

  uint32_t bin_of(uint64_t time_ns) const {
    const auto edge = std::lower_bound(report_.edges.begin() + 1, report_.edges.end(), time_ns);
    return static_cast<uint32_t>(edge - report_.edges.begin()) - 1;
  }

 private:
  static uint8_t class_of(uint64_t value) {
    return static_cast<uint8_t>(value == 0 ? 0 : std::bit_width(value) - 1);
  }

  Report& report_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::array<int64_t, 2>> rows_;
  std::map<std::tuple<uint8_t, uint8_t, uint32_t, uint32_t>, std::array<int64_t, 2>> shapes_;
};

inline TimeLine made_line(LineKind kind, const std::string& name, Unit unit,
                          std::vector<TimePoint> points) {
  TimeLine line;
  line.kind = kind;
  line.name = name;
  line.type = {name, unit};
  line.points = std::move(points);
  return line;
}

// A minute of a server: a cache that fills, requests, plugins that stay, and a leak.
inline Report made_report() {
  Report report;
  report.file = "server's run.mfr";
  Profile& p = report.profile;
  p.types = {{"bytes", Unit::bytes}, {"blocks", Unit::count}};
  p.meta.command = "memflame record --detail events -- ./server --port 80";
  p.meta.host = "web-3";
  p.meta.seconds = 60.25;
  p.meta.notes = {"</p><script>alert('note')</script>"};
  p.losses.add(Loss::ring_full, 12345, 0);
  for (uint64_t i = 0; i <= 120; ++i)
    report.edges.push_back(i * (made_second / 2) + (i % 7 == 3 ? 12'345'678 : 0));
  report.edges.back() = 60 * made_second + 250'000'001;
  MadeBlocks blocks(report);
  std::minstd_rand random(3);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  const StackId process = p.push({}, "server", FrameKind::process);
  const StackId main = p.push(process, "main", FrameKind::user, "/usr/bin/server"),
                loop = p.push(main, "event_loop", FrameKind::user, "/usr/bin/server"),
                handle = p.push(loop, "server::Session::handle_request(server::Request const&)",
                                FrameKind::user, "/usr/bin/server", "/src/session.cc", 120);
  const auto in = [&](StackId caller, std::string_view name, uint32_t line = 0) {
    const StackId code = p.push(caller, name, FrameKind::user, "/usr/bin/server",
                                line == 0 ? "" : "/src/session.cc", line);
    return p.push(code, "malloc", FrameKind::user, "/usr/lib/libc.so.6");
  };
  const uint64_t end = report.edges.back();
  const StackId cache = in(handle, "cache::insert", 88), leak = in(handle, "Journal::begin", 140),
                parse = in(handle, "json::Parser::parse_object", 61),
                again = in(handle, "json::Parser::parse_object", 75),
                hostile = in(loop, hostile_name), reply = in(handle, "Reply::write");
  for (uint64_t i = 0; i < 1200; ++i) {
    const uint64_t now = i * 50'000'000 + below(50'000'000) + 1;
    const auto until = [&](uint64_t lives) { return now + lives < end ? now + lives : 0; };
    if (now < 20 * made_second) blocks.add(cache, now, until(35 * made_second), 16384, 6);
    blocks.add(parse, now, until(below(40'000'000)), 700 + static_cast<int64_t>(below(3000)), 20);
    blocks.add(again, now, until(below(900'000)), 48, 300);
    blocks.add(reply, now, until(below(3'000'000'000)), 4096, 3 + static_cast<int64_t>(below(9)));
    if (i % 3 == 0) blocks.add(leak, now, 0, 512, 25);
    if (i % 40 == 0) blocks.add(hostile, now, until(9 * made_second), 65536, 1);
  }
  for (uint64_t i = 0; i < 300; ++i)
    blocks.add(in(p.push(main, "load_plugins", FrameKind::user, "/usr/bin/server"),
                  "plugin_" + std::to_string(i)),
               1 + below(2 * made_second), i % 9 == 0 ? end - below(made_second) : 0,
               1000 + static_cast<int64_t>(97 * i), 3);
  blocks.finish();
  report.peak = 71;
  report.marks = {{24, "deploy"}, {45, "cache filled"}, {46, "<b>&\"</script>"}, {108, "drain"}};
  report.gaps = {{80, 83, 12345}, {99, 100, 0}};
  report.lines.gauges = {
      made_line(LineKind::gauge, "resident", Unit::bytes, {}),
      made_line(LineKind::gauge, "PSS", Unit::bytes, {}),
      made_line(LineKind::gauge, "virtual", Unit::bytes, {{0, 900 << 20}, {30, 1100 << 20}}),
      made_line(LineKind::gauge, "pressure, %", Unit::count, {{0, 0}, {40, 12}})};
  for (int i = 0; i <= 240; ++i) {
    const double time = i * 0.25;
    const auto bytes = static_cast<int64_t>((30 + 115 * std::min(time, 22.0) / 22) * 1048576);
    const bool known = i < 130 || i > 142;
    report.lines.gauges[0].points.push_back(
        {time, known ? std::optional(bytes + int64_t{i} * 40000) : std::nullopt});
    if (i % 20 == 0) report.lines.gauges[1].points.push_back({time, bytes / 2});
  }
  report.lines.totals = {made_line(LineKind::total, "brk-grown", Unit::bytes,
                                   {{0, 0}, {5, 30 << 20}, {20, 120 << 20}})};
  report.sums = {{"VmRSS", 158'900'224, 0, ""},
                 {"heaps (brk and mmap), touched", 131'203'072, 1, "from the mappings at the end"},
                 {"live blocks", p.total(0) / 20, 2, "what the allocator handed out"},
                 {"fragmentation and caches of the allocator", 61'000'000, 2, "the rest"},
                 {"stacks", 1'052'672, 1, ""},
                 {"files", 26'644'480, 1, "<i>libserver.so.2</i> and 31 more"}};
  p.marks = {
      {leak, VerdictKind::leak, true, 102400,
       "leak: 8.0 % of the blocks never come back, 100.0 KiB/s, 10,000 survivors, oldest 60 s",
       "Journal::begin"},
      {hostile, VerdictKind::comes_back, false, 0, "comes back: everything is freed after 9 s",
       hostile_name},
      {cache, VerdictKind::cache, false, 0, "cache or pool: full since 20 s", "cache::insert"}};
  return report;
}

// Functions of Python, and what the interpreter does between them; one of them leaks.
inline Report made_interpreted_report() {
  Report report;
  report.file = "service.mfr";
  Profile& p = report.profile;
  p.types = {{"bytes", Unit::bytes}, {"blocks", Unit::count}};
  for (uint64_t i = 0; i <= 60; ++i) report.edges.push_back(i * made_second);
  const auto stack = [&p](std::initializer_list<std::string_view> path) {
    StackId top;
    for (const std::string_view name : path)
      top = name.find(".py") != std::string_view::npos
                ? p.push(top, name, FrameKind::user, "/srv/app.py", "/srv/app.py", 7)
                : p.push(top, name, FrameKind::user,
                         name == "malloc" ? "/lib/libc.so.6" : "/usr/bin/python3.11");
    return top;
  };
  const StackId thumb = stack({"main", "eval", "route (app.py:3)", "call", "eval",
                               "thumb (app.py:9)", "resize", "malloc"}),
                key = stack({"main", "eval", "route (app.py:3)", "sort", "eval", "key (app.py:5)",
                             "malloc"}),
                sort = stack({"main", "eval", "route (app.py:3)", "sort", "malloc"});
  MadeBlocks blocks(report);
  for (uint64_t i = 0; i < 60; ++i) {
    const uint64_t now = i * made_second + 1;
    blocks.add(thumb, now, 0, 100'000, 1);
    if (i < 30) blocks.add(key, now, now + 20 * made_second, 50'000, 2);
    if (i >= 30) blocks.add(sort, now, now + made_second / 2, 30'000, 3);
  }
  blocks.finish();
  report.peak = 50;
  p.marks = {{thumb, VerdictKind::leak, true, 100000, "leak: never comes back, 97.7 KiB/s",
              "thumb (app.py:9)"}};
  return report;
}

// Looks of a series: figures rise and fall, and some end where they began.
inline Report made_changes() {
  Report report;
  report.kind = Report::Kind::changes;
  report.file = "-all.mfr";
  Profile& p = report.profile;
  p.types = {{"live", Unit::bytes},
             {"live-count", Unit::count},
             {"total", Unit::bytes},
             {"total-count", Unit::count},
             {"fault-gained", Unit::pages}};
  p.meta.command = "memflame record --probes alloc,fault -p 812";
  for (uint64_t i = 0; i <= 50; ++i) report.edges.push_back(i * 7 * made_second + i);
  const StackId main = p.push(p.push({}, "server", FrameKind::process), "main");
  const auto put = [&](StackId stack, uint32_t bin, std::array<int64_t, 5> figures) {
    report.rows.push_back({stack, bin, ReportRow::never});
    report.values.insert(report.values.end(), figures.begin(), figures.end());
    p.add(stack, figures);
  };
  for (int64_t i = 0; i < 120; ++i) {
    const StackId stack =
        p.push(p.push(main, "worker_" + std::to_string(i % 12)), "task_" + std::to_string(i));
    const auto first = static_cast<uint32_t>(i % 23), second = first + 20;
    const int64_t bytes = 20000 + i * 731;
    put(stack, first, {bytes, 10, bytes, 10, i % 5});
    if (i % 4 == 0) put(stack, second, {-bytes, -10, 0, 0, 0});
    if (i % 4 == 1) put(stack, second, {-bytes / 3, -3, 700, 1, i % 3});
  }
  // All of its figures come back to 0: it must be there all the same.
  const StackId guest = p.push(main, "guest");
  put(guest, 5, {900000, 9, 0, 0, 3});
  put(guest, 30, {-900000, -9, 0, 0, -3});
  report.peak = 22;
  report.marks = {{10, "deploy"}};
  report.lines.gauges = {made_line(LineKind::gauge, "resident", Unit::bytes,
                                   {{0, 9 << 20}, {70, 20 << 20}, {300, 17 << 20}})};
  return report;
}

// As many rows as a page has.
inline Report made_large_report() {
  Report report;
  report.file = "large.mfr";
  Profile& p = report.profile;
  p.types = {{"bytes", Unit::bytes}, {"blocks", Unit::count}};
  for (uint64_t i = 0; i <= 256; ++i) report.edges.push_back(i * made_second);
  MadeBlocks blocks(report);
  std::minstd_rand random(5);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  for (int i = 0; i < 21000; ++i) {
    StackId top = p.push({}, "main");
    for (int depth = 0; depth < 9; ++depth)
      top = p.push(top, "ns::function_" + std::to_string(below(depth < 4 ? 8 : 30)));
    for (int row = 0; row < 9; ++row) {
      const uint64_t born = 1 + below(250 * made_second), lives = below(300 * made_second);
      blocks.add(top, born, born + lives < report.edges.back() ? born + lives : 0,
                 static_cast<int64_t>(below(100000)), 1 + static_cast<int64_t>(below(9)));
    }
  }
  blocks.finish();
  report.peak = 128;
  return report;
}

// Figures that a double does not hold; their sum hides that.
inline Report made_huge_report() {
  Report report;
  report.kind = Report::Kind::changes;
  report.file = "huge.mfr";
  Profile& p = report.profile;
  p.types = {{"grown", Unit::bytes}};
  report.edges = {0, 1, 2'000'000'000, 3'123'456'789};
  const auto put = [&](std::string_view name, uint32_t bin, int64_t bytes) {
    const StackId stack = p.push(p.push({}, "main"), name);
    report.rows.push_back({stack, bin, ReportRow::never});
    report.values.push_back(bytes);
    p.add(stack, std::array{bytes});
  };
  put("odd", 0, (int64_t{1} << 60) + 1);
  put("odd", 1, -(int64_t{1} << 60));
  put("one", 1, 1);
  put("one", 2, 2);
  return report;
}

}  // namespace memflame
