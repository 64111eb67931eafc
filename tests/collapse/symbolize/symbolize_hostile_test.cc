// SPDX-License-Identifier: BSD-2-Clause
// Hostile files of a watched program must not crash memflame, hang it or fill the memory. These
// tests find most in the build with sanitizers.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <random>
#include <thread>

#include "collapse/symbolize/bus_guard.h"
#include "collapse/symbolize/elf_symbols.h"
#include "collapse/symbolize/nameless_code.h"
#include "tests/collapse/symbolize/symbolize_fixture.h"

using namespace memflame;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::fixture;  // NOLINT(google-build-using-namespace)

namespace {

const std::string files = SYMBOLS "/";

SharedFd memory_file(const std::string& bytes) {
  SharedFd file(::memfd_create("memflame-test", MFD_CLOEXEC));
  REQUIRE(::pwrite(file.get(), bytes.data(), bytes.size(), 0) ==
          static_cast<ssize_t>(bytes.size()));
  return file;
}

// Asks for every 16th byte of the file, which uses all readers; returns how many had names.
size_t name_all(const SharedFd& file, uint64_t size) {
  Module module;
  module.path = "/damaged";
  module.file = file;
  DebuginfodBudget budget;
  const BusGuard guard;
  OwnFiles opener(module, budget);
  ElfSymbols symbols(module, true, opener);
  size_t named = 0;
  for (uint64_t offset = 0; offset < size; offset += 16)
    if (const std::optional<uint64_t> address = symbols.address_of(offset))
      if (!symbols.find(*address).empty()) ++named;
  return named;
}

// One byte of `bytes` at a time is replaced, at places that `random` chooses below `limit`.
void corrupt(const std::string& bytes, uint64_t code_end, int rounds, std::mt19937_64& random,
             size_t limit) {
  std::string damaged = bytes;
  for (int i = 0; i < rounds; ++i) {
    const size_t at = random() % limit;
    const char before = damaged[at];
    damaged[at] = static_cast<char>(random());
    name_all(memory_file(damaged), code_end);
    damaged[at] = before;
  }
}

}  // namespace

TEST_CASE("single bytes changed anywhere in a file with DWARF") {
  const std::string bytes = read_file(files + "pie");
  const uint64_t code_end = 0x2000;  // headers and all code of this small program
  REQUIRE(name_all(memory_file(bytes), code_end) > 10);
  std::mt19937_64 random(20240607);
  corrupt(bytes, code_end, 1200, random, bytes.size());
  corrupt(bytes, code_end, 400, random, 0x400);  // headers, notes
  corrupt(read_file(files + "dwarf4"), code_end, 400, random, read_file(files + "dwarf4").size());
  // Starts of functions are read from the unwind tables, too.
  name_all(memory_file(read_file(files + "stripped")), code_end);
  corrupt(read_file(files + "stripped"), code_end, 1200, random,
          read_file(files + "stripped").size());
  if (const std::string mini = read_file(files + "mini"); !mini.empty())
    corrupt(mini, code_end, 200, random, mini.size());
}

TEST_CASE("single bytes changed in the DWARF sections only") {
  const std::string bytes = read_file(files + "pie");
  // They are behind the last loaded byte, and before the symbol table at the end.
  const size_t start = bytes.find("GCC: (");
  const size_t from = start == std::string::npos ? bytes.size() / 2 : start;
  std::mt19937_64 random(7);
  std::string damaged = bytes;
  for (int i = 0; i < 800; ++i) {
    const size_t at = from + random() % (bytes.size() - from);
    const char before = damaged[at];
    damaged[at] = static_cast<char>(random());
    name_all(memory_file(damaged), 0x2000);
    damaged[at] = before;
  }
}

TEST_CASE("files that end early") {
  const std::string bytes = read_file(files + "pie");
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i)
    name_all(memory_file(bytes.substr(0, random() % bytes.size())), 0x2000);
}

TEST_CASE("a file cut short while it is read") {
  const std::string bytes = read_file(files + "pie");
  const SharedFd file = memory_file(bytes);
  Module module;
  module.path = "/cut";
  module.file = file;
  DebuginfodBudget budget;
  const BusGuard guard;
  OwnFiles opener(module, budget);
  ElfSymbols symbols(module, true, opener);
  REQUIRE(symbols.problem() == ElfProblem::none);
  CHECK(guard.pages_replaced() == 0);
  REQUIRE(::ftruncate(file.get(), 0) == 0);
  for (uint64_t offset = 0; offset < 0x2000; offset += 16)
    if (const std::optional<uint64_t> address = symbols.address_of(offset)) symbols.find(*address);
  CHECK(guard.pages_replaced() > 0);
}

TEST_CASE("guards on several threads share the signal") {
  const auto handler = [] {
    struct sigaction now {};
    REQUIRE(::sigaction(SIGBUS, nullptr, &now) == 0);
    return now.sa_sigaction;  // the same place in memory as sa_handler
  };
  const auto before = handler();  // AddressSanitizer has one of its own
  const SharedFd file = memory_file(std::string(1 << 16, 'x'));
  void* const mapped = ::mmap(nullptr, 1 << 16, PROT_READ, MAP_PRIVATE, file.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const bytes = static_cast<volatile char*>(mapped);
  REQUIRE(::ftruncate(file.get(), 0) == 0);
  {
    auto first = std::make_unique<BusGuard>();
    const BusGuard second;
    REQUIRE((handler() != before));
    // The guard that took over the signal ends first, on a thread of its own.
    std::thread([&] {
      CHECK(bytes[0] == 0);
      first.reset();
    }).join();
    CHECK(second.pages_replaced() == 0);
    CHECK(bytes[1 << 15] == 0);
    CHECK(second.pages_replaced() == 1);
  }
  CHECK((handler() == before));
  ::munmap(mapped, 1 << 16);
}

TEST_CASE("a file that was cut short is named in the notes") {
  const std::string bytes = read_file(files + "pie");
  const SharedFd file = memory_file(bytes);
  Recording recording = record({{0x1000, 0x9000, 0, 0, "/cut"}});
  recording.modules[1].file = file;
  std::vector<Pc> pcs;
  for (uint64_t address = 0x1000; address < 0x9000; address += 16) pcs.push_back({address, false});
  add_stack(recording, pcs);
  // Truncated before it is opened; only its beginning is left.
  REQUIRE(::ftruncate(file.get(), 64) == 0);
  symbolize(recording, {});
  CHECK(recording.losses[Loss::unknown_symbol].events == pcs.size());
}

TEST_CASE("mappings at the ends of the address space") {
  Recording recording = record({{0, UINT64_MAX, UINT64_MAX - 5, 0, files + "pie"},
                                {UINT64_MAX - 1, UINT64_MAX, 0, 0, ""},
                                {0x5000, 0x4000, 0, 0, files + "pie"}});
  recording.spaces[1].mappings.push_back({0, 4096, 0, ModuleId{77777}, 0, UINT64_MAX});
  add_stack(recording, {{0, true},
                        {0, false},
                        {1, true},
                        {UINT64_MAX, false},
                        {UINT64_MAX, true},
                        {UINT64_MAX - 1, false},
                        {0x4800, false}});
  add_stack(recording, {{5, false}}, 4000000000);  // more kernel addresses than there are addresses
  symbolize(recording, {.kallsyms_path = "/dev/null"});
  for (size_t s = 1; s < recording.stacks.size(); ++s) {
    REQUIRE(recording.frames[s].size() == recording.stacks[s].pcs.size());
    for (const LocationId id : recording.frames[s]) {
      REQUIRE(id);
      CHECK_FALSE(recording.locations[id.index].symbols.empty());
    }
  }
}

TEST_CASE("a perf map of overlapping lines takes no more than a little longer") {
  std::string text;
  for (uint64_t i = 1; i < 100000; ++i) {
    char line[64];
    std::snprintf(line, sizeof line, "%llx %llx f%llu\n", static_cast<unsigned long long>(i),
                  static_cast<unsigned long long>(1000000 - i), static_cast<unsigned long long>(i));
    text += line;
  }
  Recording recording = record({{0x1, 0x1000000, 0, 0, ""}});
  recording.spaces[1].perf_map = text;
  CHECK(name(recording, {50, false})[0].function == "f50");
  CHECK(name(recording, {900000, false})[0].function == "f99999");
}

TEST_CASE("advice on nameless code is given before a damaged recording is refused") {
  Recording recording;
  recording.sums.push_back({.stack = {uint32_t{1} << 30U}, .group = "", .values = {1}});
  CHECK(advice_on_nameless_code(recording).empty());
}
