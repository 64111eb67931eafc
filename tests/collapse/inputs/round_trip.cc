// SPDX-License-Identifier: BSD-2-Clause
#include "tests/collapse/inputs/round_trip.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

namespace memflame {
namespace {

constexpr std::array names{"main",
                           "operator new(unsigned long)",
                           "a;b",
                           "(anonymous namespace)::f",
                           "std::map<int, std::string>::operator[]",
                           "x y 12",
                           "\"quoted\\\"",
                           "漢字",
                           "a,b"};
constexpr std::array modules{"", "/usr/lib/libc.so.6", "server", "[vdso]"};
constexpr std::array kinds{FrameKind::user, FrameKind::kernel, FrameKind::inlined, FrameKind::jit};

}  // namespace

Profile random_profile(uint32_t seed, const Whims& whims) {
  std::mt19937 random(seed);  // its numbers are the same everywhere, those of distributions are not
  const auto below = [&](size_t limit) { return random() % limit; };
  Profile p;
  p.types = {{"live", Unit::bytes}, {"calls", Unit::count}, {"time", Unit::nanoseconds}};
  p.types[1].decimals = whims.decimals;
  p.shown = below(p.types.size());
  p.meta.title = "Profile \"" + std::to_string(seed) + "\"";
  p.meta.notes = {"first note", "second; note"};
  p.losses.add(Loss::ring_full, 3, 4096);
  std::vector<StackId> known{{}};
  for (size_t i = 0; i < 60; ++i) {
    const bool has_kind = whims.kinds && below(3) == 0;
    const bool has_place = whims.places && below(2) == 0;
    known.push_back(p.push(known[below(known.size())], names[below(names.size())],
                           has_kind ? kinds[below(kinds.size())] : FrameKind::user,
                           whims.modules ? modules[below(modules.size())] : "",
                           has_place ? "src/a.cc" : "",
                           has_place ? static_cast<uint32_t>(1 + below(100)) : 0));
  }
  for (size_t i = 0; i < 80; ++i) {
    std::array<int64_t, 3> values{};
    for (int64_t& value : values) {
      value = below(4) == 0 ? 0
                            : static_cast<int64_t>((uint64_t{random()} << 31U | random()) %
                                                   static_cast<uint64_t>(whims.largest));
      if (whims.negative && below(5) == 0) value = -value;
    }
    p.add(known[1 + below(known.size() - 1)], values);
  }
  return p;
}

Told told(const Profile& p) {
  Told all;
  for (const StackId stack : p.touched()) {
    std::string path;
    for (const FrameId id : p.path(stack)) {
      const Frame& frame = p.frames[id];
      path += std::string(p.strings[frame.function]) + " | " +
              std::to_string(static_cast<int>(frame.kind)) + " | " +
              std::string(p.strings[frame.module]) + " | " + std::string(p.strings[frame.file]) +
              ":" + std::to_string(frame.line) + "\n";
    }
    std::vector<int64_t> values;
    for (size_t i = 0; i < p.types.size(); ++i)
      if (p.types[i].unit != Unit::variance) values.push_back(p.values(stack)[i]);
    if (std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; })) continue;
    std::vector<int64_t>& sums = all[path];
    sums.resize(values.size(), 0);
    for (size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
  }
  return all;
}

}  // namespace memflame
