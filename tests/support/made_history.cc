// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/made_history.h"

#include <algorithm>
#include <array>

namespace memflame {

HistoryMaker::HistoryMaker() {
  Recording& recording = history.recording;
  recording.types = {{"live", Unit::bytes},
                     {"live-count", Unit::count},
                     {"total", Unit::bytes},
                     {"total-count", Unit::count}};
  recording.meta.command = "memflame record -p 812";
  recording.meta.host = "example";
  Space& space = recording.spaces.emplace_back();
  space.pid = 812;
  space.comm = "server";
  recording.frames.emplace_back();
  history.is_complete = true;
}

TrackId HistoryMaker::track(const std::vector<std::string>& functions) {
  Recording& recording = history.recording;
  std::vector<LocationId> root_first;
  const auto push = [&](const std::string& name) {
    const size_t slash = name.find('/');
    recording.locations.emplace_back().symbols = {
        {.function = slash == std::string::npos ? name : name.substr(slash + 1),
         .file = {},
         .module =
             slash == std::string::npos ? "/usr/bin/server" : "/usr/lib/" + name.substr(0, slash)}};
    root_first.push_back(LocationId{static_cast<uint32_t>(recording.locations.size() - 1)});
  };
  push("main");
  for (const std::string& function : functions) push(function);
  RawStack& stack = recording.stacks.emplace_back();
  stack.space = SpaceId{1};
  for (size_t i = 0; i < root_first.size(); ++i) stack.pcs.push_back({4096 + i, i != 0});
  recording.frames.resize(recording.stacks.size());
  recording.frames.back().assign(root_first.rbegin(), root_first.rend());
  history.tracks.push_back(
      {RawStackId{static_cast<uint32_t>(recording.stacks.size() - 1)}, SpaceId{1}, ""});
  return TrackId{static_cast<uint32_t>(history.tracks.size() - 1)};
}

Look& HistoryMaker::look(double seconds, LookRows rows) {
  Look& look = history.looks.emplace_back();
  look.time_ns = static_cast<uint64_t>(seconds * 1e9);
  look.rows = std::move(rows);
  return look;
}

History made_history(int looks) {
  HistoryMaker maker;
  maker.history.gauges = {{"resident", Unit::bytes}, {"pressure", Unit::count, 2}};
  const std::string allocate = "libstdc++.so.6/operator new(unsigned long)";
  const std::vector<TrackId> tracks{
      maker.track({"shop::session::Registry::remember(std::map<std::string, std::vector<"
                   "shop::session::Visit>> const&, std::chrono::seconds)",
                   "libstdc++.so.6/std::vector<shop::session::Visit>::_M_realloc_insert()",
                   allocate, "libc.so.6/malloc"}),
      maker.track({"serve", "Cache::fill", "libc.so.6/malloc"}),
      maker.track({"serve", "render_page", "Buffer::grow", "libc.so.6/realloc"}),
      maker.track({"warm_up", "Buffer::grow", "libc.so.6/realloc"}),
      maker.track({"read_config", "libyaml.so.0/yaml_parser_load", "libc.so.6/calloc"}),
      maker.track({"log_line", "libc.so.6/strdup", "libc.so.6/malloc"})};
  constexpr int64_t kib = 1024, mib = 1024 * kib;
  std::vector<int64_t> live(tracks.size(), 0), total(tracks.size(), 0);
  for (int i = 1; i <= looks; ++i) {
    const double seconds = 120.0 * i / looks;
    const auto at = static_cast<int64_t>(seconds);
    const std::vector<int64_t> now{at * 310 * kib,
                                   at < 30 ? at * mib : 30 * mib,
                                   (at % 20) * 900 * kib,
                                   at < 8 ? at * 700 * kib : 0,
                                   1200 * kib,
                                   (at % 3) * 90 * kib};
    LookRows rows;
    int64_t sum = 0;
    for (size_t t = 0; t < tracks.size(); ++t) {
      sum += now[t];
      if (now[t] == live[t]) continue;
      total[t] += std::max<int64_t>(now[t] - live[t], 0);
      live[t] = now[t];
      rows.add(tracks[t], std::array{live[t], live[t] / kib, total[t], total[t] / kib});
    }
    Look& look = maker.look(seconds, std::move(rows));
    look.gauges = {22 * mib + sum + std::max<int64_t>(at - 60, 0) * 150 * kib,
                   at < 90 ? 0 : (at - 90) * 31};
  }
  maker.history.marks = {{40'000'000'000, "deploy 4.1"}, {42'000'000'000, "cache <warm>"}};
  return std::move(maker.history);
}

}  // namespace memflame
