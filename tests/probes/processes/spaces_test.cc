// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/spaces.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "probes/processes/overlay.h"

using namespace memflame;

namespace {

Mapping mapping(uint64_t start, uint64_t end, uint32_t module, uint64_t offset = 0) {
  Mapping made;
  made.start = start;
  made.end = end;
  made.offset = offset;
  made.module = ModuleId{module};
  return made;
}

// "start-end module@offset", in order.
std::vector<std::string> visible(const std::vector<Mapping>& newest_first) {
  std::vector<const Mapping*> order;
  order.reserve(newest_first.size());
  for (const Mapping& m : newest_first) order.push_back(&m);
  std::vector<std::string> list;
  for (const Mapping& m : overlay(order))
    list.push_back(std::to_string(m.start) + "-" + std::to_string(m.end) + " " +
                   std::to_string(m.module.index) + "@" + std::to_string(m.offset));
  return list;
}

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("mappings side by side are sorted") {
  CHECK(visible({mapping(30, 40, 1), mapping(10, 20, 2)}) == List{"10-20 2@0", "30-40 1@0"});
}

TEST_CASE("a newer mapping hides what it covers, and offsets go on behind it") {
  CHECK(visible({mapping(20, 30, 2), mapping(10, 40, 1, 100)}) ==
        List{"10-20 1@100", "20-30 2@0", "30-40 1@120"});
  CHECK(visible({mapping(10, 40, 2), mapping(20, 30, 1)}) == List{"10-40 2@0"});
  CHECK(visible({mapping(10, 20, 2), mapping(10, 30, 1)}) == List{"10-20 2@0", "20-30 1@10"});
  CHECK(visible({mapping(20, 30, 2), mapping(10, 30, 1)}) == List{"10-20 1@0", "20-30 2@0"});
}

TEST_CASE("one old mapping seen between several newer ones") {
  CHECK(visible({mapping(12, 14, 3), mapping(20, 22, 2), mapping(10, 30, 1)}) ==
        List{"10-12 1@0", "12-14 3@0", "14-20 1@4", "20-22 2@0", "22-30 1@12"});
}

namespace {

// This process as a space, and a log with the given records.
struct Watching {
  static constexpr SpaceId id{1};
  Spaces spaces;
  uint64_t began_ns = monotonic_ns();

  void begin() {
    bpf::space_record record{};
    record.space = id.index;
    record.tgid = static_cast<uint32_t>(::getpid());
    record.reason = bpf::space_found;
    record.time = began_ns;
    spaces.begin(record);
  }
  void log(SidebandRecord::Kind kind, uint64_t time_ns, uint64_t start = 0) {
    SidebandRecord record;
    record.kind = kind;
    record.pid = ::getpid();
    record.time_ns = time_ns;
    record.start = start;
    record.end = start + 0x1000;
    record.inode = 1;
    record.path = "/nowhere/program";
    spaces.take(record);
  }
  bool has(uint64_t address, uint64_t time_ns) {
    const std::vector<Mapping>& code = spaces.code_of(id, time_ns);
    return std::any_of(code.begin(), code.end(),
                       [&](const Mapping& m) { return m.start <= address && address < m.end; });
  }
};

const auto own_code = reinterpret_cast<uint64_t>(&monotonic_ns);
constexpr uint64_t elsewhere = 0x10000;  // where nothing is mapped

}  // namespace

TEST_CASE("mappings of the program that follows are not taken for this one's") {
  Watching watching;
  watching.begin();
  CHECK(watching.has(own_code, watching.began_ns));
  watching.log(SidebandRecord::Kind::mapping, monotonic_ns(), elsewhere);
  bool executes = true;
  watching.spaces.set_log([&] {
    if (executes) watching.log(SidebandRecord::Kind::exec, monotonic_ns());
  });
  watching.spaces.read_again(Watching::id, UINT64_MAX);
  CHECK(watching.has(elsewhere, monotonic_ns()));  // nothing of it was seen to end
}

TEST_CASE("a mapping that has gone was there until it was missed") {
  Watching watching;
  watching.begin();
  watching.log(SidebandRecord::Kind::mapping, monotonic_ns(), elsewhere);
  uint64_t reading_ns = 0;
  watching.spaces.set_log([&] { reading_ns = monotonic_ns(); });
  watching.spaces.read_again(Watching::id, UINT64_MAX);
  CHECK(watching.has(elsewhere, reading_ns));
  CHECK(!watching.has(elsewhere, monotonic_ns()));
}

TEST_CASE("code is that of the time that is asked for, whatever was asked for before") {
  Watching watching;
  watching.begin();
  const uint64_t before = monotonic_ns();
  CHECK(!watching.has(elsewhere, before));
  const uint64_t mapped = monotonic_ns() + 1000;
  watching.log(SidebandRecord::Kind::mapping, mapped, elsewhere);
  CHECK(watching.has(elsewhere, mapped));
  CHECK(watching.has(own_code, mapped));
  watching.log(SidebandRecord::Kind::mapping, mapped + 10, elsewhere + 0x1000);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(watching.has(elsewhere + 0x1000, mapped + 10));
    const std::vector<Mapping>& code = watching.spaces.code_of(Watching::id, mapped + 9);
    const auto last = std::find_if(code.begin(), code.end(),
                                   [](const Mapping& m) { return m.start == elsewhere + 0x1000; });
    REQUIRE(last != code.end());  // what the log knows later may have been there before
    CHECK(last->from_ns == mapped + 10);
  }
}

TEST_CASE("a child has the code that its parent had when it was forked") {
  Watching watching;
  watching.begin();
  bpf::space_record child{};
  child.space = 2;
  child.parent_space = Watching::id.index;
  child.tgid = 1U << 30;  // no process
  child.reason = bpf::space_fork;
  child.time = monotonic_ns();
  watching.spaces.begin(child);
  const auto code_of_child = [&](uint64_t time_ns) {
    return watching.spaces.code_of(SpaceId{2}, time_ns).size();
  };
  const size_t inherited = code_of_child(child.time);
  CHECK(inherited != 0);
  // memflame learns of it late: it was mapped before the fork.
  watching.log(SidebandRecord::Kind::mapping, child.time - 1, elsewhere);
  CHECK(code_of_child(child.time) == inherited + 1);
}

TEST_CASE(
    "what was mapped in a space that is gone is given back, except for what its children have") {
  constexpr SpaceId parent = Watching::id, child{2};
  Watching watching;
  watching.begin();
  bpf::space_record fork{};
  fork.space = child.index;
  fork.parent_space = parent.index;
  fork.tgid = 1U << 30;  // no process
  fork.reason = bpf::space_fork;
  fork.time = monotonic_ns();
  watching.spaces.begin(fork);
  const auto mappings_of = [&](SpaceId space) {
    Recording recording;
    watching.spaces.copy_to(recording, false);
    return recording.spaces.at(space.index).mappings.size();
  };
  CHECK(watching.spaces.forget(monotonic_ns()).empty());
  CHECK(mappings_of(parent) != 0);  // it lives

  const uint64_t ended_ns = monotonic_ns();
  watching.spaces.end(parent, ended_ns);
  CHECK(watching.spaces.forget(ended_ns - 1).empty());
  CHECK(watching.spaces.forget(ended_ns) == std::vector{parent});
  CHECK(mappings_of(parent) != 0);
  CHECK_FALSE(watching.spaces.code_of(child, monotonic_ns()).empty());

  watching.spaces.end(child, monotonic_ns());
  CHECK(watching.spaces.forget(monotonic_ns()) == std::vector{child});
  CHECK(mappings_of(parent) == 0);
  CHECK(watching.spaces.has_ended(parent));
}

TEST_CASE("the log of a process that has ended is taken over, and then given back") {
  constexpr uint64_t s = 1'000'000'000;
  Watching watching;
  watching.begin();
  const uint64_t end = watching.began_ns + s;
  watching.spaces.end(Watching::id, end);
  watching.log(SidebandRecord::Kind::mapping, end - 10, elsewhere);  // comes late
  CHECK_FALSE(watching.has(elsewhere, end));
  watching.log(SidebandRecord::Kind::exit, end + 1);
  watching.log(SidebandRecord::Kind::exit, end + 6 * s);
  CHECK(watching.has(elsewhere, end));

  // Nothing is left for another program with this pid.
  bpf::space_record next{};
  next.space = 2;
  next.tgid = static_cast<uint32_t>(::getpid());
  next.reason = bpf::space_exec;
  next.time = end + 7 * s;
  watching.spaces.begin(next);
  const std::vector<Mapping>& code = watching.spaces.code_of(SpaceId{2}, next.time);
  CHECK(std::none_of(code.begin(), code.end(),
                     [](const Mapping& mapping) { return mapping.start == elsewhere; }));
}
