// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/kept_names.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "tests/collapse/symbolize/symbolize_fixture.h"

using namespace memflame;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::fixture;  // NOLINT(google-build-using-namespace)

namespace {

const std::string files = SYMBOLS "/";

struct Look {
  std::string exported, local;
  uint64_t unknown = 0;
  bool has_code = false;
};

// Names a function that the library exports and one that it does not, from a file in its place.
Look look(KeptNames& kept, const std::string& file) {
  constexpr uint64_t start = 0x10000000;
  static const std::map<std::string, uint64_t> at = parse_nm(files + "library.so.nm");
  Recording recording = record({{start, start + 0x100000, 0, 1, files + file}});
  recording.stacks.resize(1);
  add_stack(recording, {{start + at.at("_ZN5shelf7visibleEm") + 1, false},
                        {start + at.at("_ZN5shelf6secretEm") + 1, false}});
  kept.symbolize(recording, {.debug_servers = false, .code = true});
  const auto location = [&](size_t i) { return recording.frames[1][i].index; };
  const auto name = [&](size_t i) { return recording.locations[location(i)].symbols[0].function; };
  return {name(0), name(1), count(recording, Loss::unknown_symbol),
          recording.code_of.size() > location(1) && bool(recording.code_of[location(1)])};
}

}  // namespace

TEST_CASE("names are kept, and what has none is looked for more and more rarely") {
  KeptNames kept;
  for (int i = 0; i < 40; ++i) {
    const Look found = look(kept, "stripped.so");
    CHECK(found.exported == "shelf::visible(unsigned long)");
    CHECK(found.local.starts_with("[stripped.so+0x"));
    CHECK(found.unknown == 1);
    CHECK(found.has_code);
  }
  // Now there is a file with symbols.
  int looks = 0;
  for (; look(kept, "library.so").unknown != 0; ++looks) REQUIRE(looks < 100);
  CHECK(looks > 4);
  CHECK(look(kept, "library.so").local == "shelf::secret(unsigned long)");
}
