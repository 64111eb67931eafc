// SPDX-License-Identifier: BSD-2-Clause
// Puts windows of a made fleet into a store, by the code that an output uses, for
// scripts/bench-fleet:
//
//   made_fleet ADDRESS HOSTS WINDOWS STACKS BEGAN AT_A_TIME [FIRST_WINDOW]
//
// All hosts run one service. A host has STACKS stacks, most of which all hosts have; a few it has
// alone. From window to window most stacks keep their bytes in use, and a tenth changes. Windows
// last 60 s, the first of them begins at BEGAN (seconds since 1970). AT_A_TIME windows of a host go
// into one insert. Prints a line of JSON with what was sent and how long it took.
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "core/hash.h"
#include "fleet/clickhouse/question.h"
#include "fleet/clickhouse/writer.h"

using namespace memflame;

namespace {

using Clock = std::chrono::steady_clock;

struct Scale {
  uint64_t hosts, windows, stacks;
  int64_t began;
  uint64_t at_a_time, first;
};

// Nine stacks of ten are those of all hosts, and differ in their leaves; the tenth is the host's.
void push_stack(Profile& profile, std::vector<StackId>& stacks, uint64_t host, uint64_t number) {
  const bool is_own = number % 10 == 9;
  uint64_t seed = mix(number, is_own ? host + 1 : 0);
  StackId stack = profile.push({}, "service", FrameKind::process);
  const uint64_t depth = 12 + seed % 16;
  for (uint64_t level = 0; level < depth; ++level) {
    // Near the root there are few functions, near the leaves many.
    seed = mix(seed, level);
    const uint64_t function = level < 4 ? level : level * 1000 + seed % (8 * level * level);
    stack = profile.push(stack,
                         "service::module_" + std::to_string(level) + "::function_" +
                             std::to_string(function) + "(std::string const&, int)",
                         FrameKind::user, "/usr/bin/service", "src/module.cc",
                         static_cast<uint32_t>(function % 900 + 1));
  }
  stack = profile.push(stack, is_own ? "own_" + std::to_string(host) + "_" + std::to_string(number)
                                     : "leaf_" + std::to_string(number));
  stacks.push_back(profile.push(stack, "malloc", FrameKind::user, "/lib/libc.so.6"));
}

Profile profile_of(uint64_t host, uint64_t window, const Scale& scale) {
  Profile profile;
  for (const WindowType& type : window_types)
    profile.types.push_back({std::string(type.name), type.unit});
  std::vector<StackId> stacks;
  for (uint64_t i = 0; i < scale.stacks; ++i) push_stack(profile, stacks, host, i);
  std::vector<int64_t> values(profile.types.size());
  for (uint64_t i = 0; i < scale.stacks; ++i) {
    const uint64_t place = mix(host, i);
    // The last window in which this stack's bytes have changed.
    const uint64_t changed = window - (window + place) % (place % 10 == 0 ? 1 : 1000);
    const uint64_t size = mix(place, changed);
    values[0] = static_cast<int64_t>(64 * (1 + size % 5000));
    values[1] = static_cast<int64_t>(1 + size % 50);
    // In a window a fifth of the stacks allocates.
    const uint64_t flow = mix(place, window + 7);
    values[2] = flow % 5 == 0 ? static_cast<int64_t>(64 * (flow % 9000)) : 0;
    values[3] = flow % 5 == 0 ? static_cast<int64_t>(1 + flow % 90) : 0;
    profile.add(stacks[i], values);
  }
  return profile;
}

WindowHead head_of(uint64_t host, uint64_t window, const Scale& scale) {
  const std::string name = "host" + std::to_string(host);
  // Hosts do not tick together.
  const int64_t began = scale.began + static_cast<int64_t>(window * 60 + mix(host, 3) % 60);
  return {.id = new_window_id(),
          .began_ns = began * ns_a_second,
          .ended_ns = (began + 60) * ns_a_second,
          .labels = {{"service", "bench"}, {"host", name}, {"version", "1.0"}},
          .figures = {{"resident_bytes", 1e9}, {"sample_bytes", 524288}, {"lost_events", 0}},
          .top = {}};
}

int run(const std::vector<std::string>& words) {
  const auto number = [&](size_t i) { return i < words.size() ? std::stoull(words[i]) : 0; };
  const Scale scale{number(1), number(2), number(3), static_cast<int64_t>(number(4)),
                    number(5), number(6)};
  StoreWriter writer(store_address_of(words.at(0)));
  double made_s = 0, sent_s = 0;
  uint64_t sample_bytes = 0, inserts = 0;
  for (uint64_t begin = 0; begin < scale.windows; begin += scale.at_a_time)
    for (uint64_t host = 0; host < scale.hosts; ++host) {
      const auto start = Clock::now();
      WindowRows rows;
      for (uint64_t i = begin; i < std::min(begin + scale.at_a_time, scale.windows); ++i)
        rows.add(head_of(host, scale.first + i, scale), profile_of(host, scale.first + i, scale),
                 new_load());
      const auto made = Clock::now();
      writer.send(rows);
      const auto sent = Clock::now();
      made_s += std::chrono::duration<double>(made - start).count();
      sent_s += std::chrono::duration<double>(sent - made).count();
      sample_bytes += rows.samples().size();
      ++inserts;
    }
  std::cout << R"({"windows": )" << scale.hosts * scale.windows << R"(, "made_s": )" << made_s
            << R"(, "sent_s": )" << sent_s << R"(, "sample_bytes": )" << sample_bytes
            << R"(, "inserts": )" << inserts << "}\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "made_fleet: " << error.what() << "\n";
    return 1;
  }
}
