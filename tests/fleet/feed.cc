// SPDX-License-Identifier: BSD-2-Clause
// Puts windows into a spool and ships them, as `memflame watch` does, for tests of outputs:
//
//   fleet_feed CONFIG SPOOL WINDOWS MILLISECONDS [PROFILE]
//
// CONFIG has {"outputs": {NAME: {…}, …}}. Every MILLISECONDS each of three versions of a
// service has a window; version 1.2 leaks. With PROFILE, a file in pprof's format, that is the
// profile of all windows. Each window's head is printed as a line of JSON with the sums of its
// profile, then a line "sent" when nothing waits any more. At the end of standard input or after
// "end" it stops and prints the counts.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "fleet/shipper.h"
#include "fleet/window_sums.h"
#include "tests/fleet/made_pprof.h"

using namespace memflame;

namespace {

constexpr int64_t leak_per_window = 1 << 20;
constexpr double seconds_to_end = 5;
constexpr uint64_t spool_bytes_of_feed = uint64_t{64} << 20U;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Window window_of(const std::string& version, int number, int64_t began_ns, int64_t ended_ns,
                 const std::string& profile) {
  const bool leaks = version == "1.2";
  const int64_t live = 1'000'000 + (leaks ? (number + 1) * leak_per_window : 0);
  Window window;
  window.head.id = new_window_id();
  window.head.began_ns = began_ns;
  window.head.ended_ns = ended_ns;
  window.head.labels = {
      {"host", "web-1"}, {"service", "checkout"}, {"version", version}, {"team", "a \"b\"\\c\n"}};
  window.head.figures = {{"resident_bytes", static_cast<double>(live) * 1.5},
                         {"processes", 2},
                         {"overhead_percent", 0.3},
                         {"lost_events", 1},
                         {"sample_bytes", 524288}};
  window.head.top = {{.function = "std::map<int, char>::insert(\"x\")",
                      .stack = "main;serve;insert",
                      .inuse_bytes = live,
                      .growth_bytes = leaks ? leak_per_window : 0,
                      .verdict = leaks ? "leak" : "kept",
                      .bytes_per_hour = leaks ? 3600.0 * leak_per_window : 0}};
  window.pprof = profile.empty()
                     ? tests::made_pprof({{{"main", "serve", "insert"}, live, 10, 5000, 7},
                                          {{"main", "log"}, 4096, 1, 300, 2}})
                     : profile;
  return window;
}

std::map<std::string, std::unique_ptr<WindowOutput>> outputs_of(const std::string& path) {
  std::map<std::string, std::unique_ptr<WindowOutput>> outputs;
  for (const auto& [name, settings] : Setting::read(contents(path), path).get("outputs").members())
    outputs[name] = make_output(settings);
  return outputs;
}

bool anything_waits(const Spool& spool) {
  for (const auto& [name, counts] : spool.counts().outputs)
    if (counts.waiting != 0) return true;
  return false;
}

nlohmann::json json_of(const SpoolCounts& counts) {
  nlohmann::json all{{"taken", counts.taken},
                     {"dropped_full", counts.dropped_full},
                     {"dropped_disk", counts.dropped_disk},
                     {"waiting", counts.waiting}};
  for (const auto& [name, output] : counts.outputs)
    all["outputs"][name] = {{"taken", output.taken},     {"sent", output.sent},
                            {"refused", output.refused}, {"dropped", output.dropped},
                            {"damaged", output.damaged}, {"vanished", output.vanished},
                            {"waiting", output.waiting}};
  return all;
}

void feed(const std::string& config, const std::string& folder, int windows, int milliseconds,
          const std::string& profile) {
  const auto spool = std::make_shared<Spool>(folder, spool_bytes_of_feed);
  auto outputs = outputs_of(config);
  std::vector<std::string> names;
  names.reserve(outputs.size());
  for (const auto& [name, output] : outputs) names.push_back(name);
  const ShipperPace pace{.first_pause = 0.1, .longest_pause = 1, .idle = 0.05, .tell = 0.2};
  Shipper shipper(
      spool, std::move(outputs),
      [](const std::string& line) { std::cerr << "memflame: " + line + "\n"
                                              << std::flush; }, pace);
  int64_t began = now_ns();
  for (int number = 0; number < windows; ++number) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    const int64_t ended = now_ns();
    for (const char* const version : {"1.0", "1.1", "1.2"}) {
      const Window window = window_of(version, number, began, ended, profile);
      nlohmann::json line = nlohmann::json::parse(to_json(window.head));
      line["sums"] = sums_of_pprof(window.pprof);
      if (const std::string why = spool->put(window, names); !why.empty())
        std::cerr << "dropped: " + why + "\n";
      std::cout << line.dump() + "\n" << std::flush;
    }
    began = ended;
  }
  for (int tries = 0; tries < 200 && anything_waits(*spool); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (!anything_waits(*spool)) std::cout << "sent\n" << std::flush;
  for (std::string line; std::getline(std::cin, line) && line != "end";) {
  }
  const bool ended = shipper.finish(seconds_to_end);
  std::cout << json_of(spool->counts()).dump() + "\n" << std::flush;
  if (!ended) ::_exit(1);
}

}  // namespace

int main(int count, char** words) try {
  if (count < 5) throw Error("fleet_feed CONFIG SPOOL WINDOWS MILLISECONDS [PROFILE]");
  feed(words[1], words[2], std::stoi(words[3]), std::stoi(words[4]),
       count > 5 ? contents(words[5]) : "");
  return 0;
} catch (const std::exception& error) {
  std::cerr << "fleet_feed: error: " << error.what() << "\n";
  return 1;
}
