// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/function_starts.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "tests/collapse/symbolize/symbolize_fixture.h"

using namespace memflame;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::fixture;  // NOLINT(google-build-using-namespace)

namespace {

const std::string files = SYMBOLS "/";

struct Opened {
  DebuginfodBudget budget;
  Module module;
  OwnFiles opener{module, budget};
  std::unique_ptr<ElfFile> file;
  explicit Opened(const std::string& path) {
    module.path = path;
    module.file = SharedFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    budget.left = budget.left.zero();
    file = std::make_unique<ElfFile>(module, opener);
    REQUIRE(file->problem() == ElfProblem::none);
  }
};

}  // namespace

TEST_CASE("functions of a stripped program begin where its symbols said") {
  const Opened stripped(files + "stripped");
  FunctionStarts starts(*stripped.file);
  const std::map<std::string, uint64_t> symbols = parse_nm(files + "pie.nm");
  for (const char* name : {"main", "plain", "_start"}) {
    CAPTURE(name);
    REQUIRE(symbols.contains(name));
    const uint64_t start = symbols.at(name);
    CHECK(starts.start_of(start) == start);
    CHECK(starts.start_of(start + 1) == start);
  }
  CHECK(starts.name_of(symbols.at("main")) == "main");
  CHECK(starts.name_of(symbols.at("_start")) == "_start");
  CHECK(starts.name_of(symbols.at("plain")).empty());
}

TEST_CASE("what is not code of the file is in no function") {
  const Opened stripped(files + "stripped");
  FunctionStarts starts(*stripped.file);
  for (const uint64_t address : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40, UINT64_MAX})
    CHECK_FALSE(starts.start_of(address));
  CHECK(starts.name_of(0).empty());
}

TEST_CASE("a library has no main") {
  const Opened library(files + "stripped.so");
  FunctionStarts starts(*library.file);
  const std::map<std::string, uint64_t> symbols = parse_nm(files + "pie.nm");
  for (const auto& [name, start] : symbols) CHECK(starts.name_of(start).empty());
}
