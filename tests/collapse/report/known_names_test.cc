// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/report/known_names.h"

#include <doctest/doctest.h>

#include <string>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr ModuleId program{1}, library{2};

// A recording with a location for each place; all are asked for.
struct Asked {
  Recording recording;
  Places places;

  LocationId add(ModuleId file, uint64_t offset, const std::string& name = "",
                 FrameKind kind = FrameKind::user) {
    const LocationId id{static_cast<uint32_t>(recording.locations.size())};
    Location& location = recording.locations.emplace_back();
    if (!name.empty())
      location.symbols = {{.function = name, .file = "", .kind = kind, .module = ""}};
    places.files[file].push_back({.location = id, .offset = offset});
    return id;
  }
  std::string name_of(LocationId id) const {
    const SymbolList& symbols = recording.locations[id.index].symbols;
    return symbols.empty() ? "" : symbols.back().function;
  }
};

}  // namespace

TEST_CASE("known names: places are told by file and offset, and not asked for again") {
  KnownNames known;
  Asked before;
  before.add(program, 16, "main");
  before.add(library, 16, "malloc");
  before.add(library, 32, "[libc+0x20]", FrameKind::unknown);
  known.learn(before.recording, before.places);

  // The order of locations is another one.
  Asked now;
  const LocationId fresh = now.add(program, 48), unnamed = now.add(library, 32),
                   other = now.add(library, 16), first = now.add(program, 16);
  known.use(now.recording, now.places);
  CHECK(now.name_of(first) == "main");
  CHECK(now.name_of(other) == "malloc");
  CHECK(now.name_of(fresh).empty());
  CHECK(now.name_of(unnamed).empty());
  REQUIRE(now.places.files.size() == 2);
  CHECK(now.places.files[program].size() == 1);
  CHECK(now.places.files[program][0].location == fresh);
  CHECK(now.places.files[library].size() == 1);
  CHECK(now.places.files[library][0].location == unnamed);
}

TEST_CASE("known names: a file of which all is known is not opened") {
  KnownNames known;
  Asked before;
  before.add(program, 16, "main");
  known.learn(before.recording, before.places);
  known.use(before.recording, before.places);
  CHECK(before.places.files.empty());
}
