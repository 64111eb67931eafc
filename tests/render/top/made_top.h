// SPDX-License-Identifier: BSD-2-Clause
// What memflame top shows of a run that never was.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "render/top/top_data.h"

namespace memflame {

inline TopRow made_row(uint64_t key, int64_t bytes, int64_t blocks, double growth,
                       VerdictKind verdict, std::vector<std::string> functions) {
  TopRow row;
  row.key = key;
  row.bytes = bytes;
  row.blocks = blocks;
  row.growth = growth;
  row.verdict = verdict;
  row.sentence = std::string(name(verdict)) + ": so it seems";
  row.series = {0, bytes / 4, bytes / 2, bytes};
  TopNames names;
  names.process = "server (1234)";
  names.frames = {"malloc [libc.so.6]"};
  for (const std::string& function : functions)
    names.frames.push_back(function + "()  server.cc:7 [server]");
  names.functions = std::move(functions);
  names.place = 1;
  row.names = std::make_shared<const TopNames>(std::move(names));
  return row;
}

inline TopData made_top() {
  TopData data;
  data.program = "server (1234)";
  data.collector = "kernel";
  data.clock = "16:30:01";
  data.seconds = 125.7;
  data.live_bytes = 12'600'000;
  data.live_blocks = 1'312;
  data.resident = 88'289'280;
  data.allocations_per_second = 12'345.4;
  data.verdicts = "1 stack leaks 19.0 KiB/s";
  data.window = "60 s";
  data.rows = {
      made_row(1, 500'000, 100, 98'304, VerdictKind::leak,
               {"transcript_create", "server::SessionCache::log_in", "main"}),
      made_row(2, 12'000'000, 1'200, 0, VerdictKind::cache, {"server::Cache::fill", "main"}),
      made_row(3, 100'000, 12, -2'048, VerdictKind::cannot_tell, {"read_file", "main"})};
  return data;
}

}  // namespace memflame
