// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>

#include "probes/languages/scripts/scripts.h"
#include "probes/languages/v8/calls.h"
#include "probes/languages/v8/functions.h"
#include "probes/languages/v8/tables.h"
#include "tests/probes/languages/v8_memory.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests may

namespace {

constexpr uint32_t baseline = 11;  // kind of code

std::span<const uint8_t> v8_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST_CASE("v8: a table of places") {
  V8Table made;
  made.add(0, V8Table::place(100)).add(7, V8Table::place(90, 3), false).add(300, 0);
  const auto at = [&](uint32_t place) { return v8_position_in(v8_bytes(made.bytes()), place); };
  CHECK(at(0) == V8Position{.offset = 100, .inlined = {}});
  CHECK(at(6) == V8Position{.offset = 100, .inlined = {}});
  CHECK(at(7) == V8Position{.offset = 90, .inlined = 3});
  CHECK(at(299) == V8Position{.offset = 90, .inlined = 3});
  CHECK_FALSE(at(300));  // unknown
  CHECK_FALSE(v8_position_in({}, 5));
  V8Table late;
  late.add(5, V8Table::place(1));
  CHECK_FALSE(v8_position_in(v8_bytes(late.bytes()), 4));
  CHECK_FALSE(v8_position_in(v8_bytes("\x80"), 4));
  CHECK_FALSE(v8_position_in(v8_bytes("\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 4));
  CHECK_FALSE(v8_position(V8Table::place(1) | 1U));  // another language's
}

TEST_CASE("v8: the bytecode to which the baseline compiler's code returns") {
  // LdaZero, a call with wide operands, Return; the numbers of their bytes of code.
  const std::string_view code("\x0c\x00\x61\x01\x00\x01\x00\xa9", 8), ends("\x08\x02\x14\x06", 4);
  const auto at = [&](uint32_t place, uint16_t version = 0x0b03) {
    return v8_baseline_bytecode(v8_bytes(ends), v8_bytes(code), version, place);
  };
  CHECK_FALSE(at(8));
  CHECK(at(9) == 0);
  CHECK(at(10) == 0);
  CHECK(at(11) == 1);
  CHECK(at(30) == 1);
  CHECK(at(31) == 7);
  CHECK_FALSE(at(37));
  CHECK_FALSE(at(11, 0x0d00));
  CHECK_FALSE(v8_baseline_bytecode(v8_bytes(ends), v8_bytes("\x00"), 0x0b03, 9));
  CHECK_FALSE(v8_baseline_bytecode(v8_bytes(ends), v8_bytes("\xff"), 0x0b03, 9));
}

TEST_CASE("v8: inlined functions, innermost first, and where each calls") {
  V8Inlined made;
  const V8Calls calls = made.read();
  CHECK(calls.code == V8Code::optimized);
  REQUIRE(calls.sites.size() == 3);
  CHECK(calls.sites[0].info == made.inner);
  CHECK(calls.sites[0].key == bpf::v8_key(V8Process::thread, 81, 3));
  CHECK(calls.sites[0].position == 24);
  CHECK(calls.sites[1].info == made.middle);
  CHECK(calls.sites[1].position == 16);
  CHECK(calls.sites[2].key == made.call.key);
  CHECK(calls.sites[2].position == 7);
}

TEST_CASE("v8: code that a function no longer has, and code that is given up") {
  V8Inlined made;
  made.call.site.code = made.process.object(1, 64);
  CHECK(made.read().sites.size() == 3);
  made.call.site.pc = made.begin + 100 + 4;  // the jump for the second exit
  CHECK(made.read().sites.size() == 3);
  made.call.site.pc = made.begin + 100;  // the first has no call
  CHECK(made.read().sites.empty());
  made.call.site.pc = made.begin + 60;  // nothing is known there
  CHECK(made.read().sites.empty());
  made.call.site.pc = made.begin + 1000;
  CHECK(made.read().sites.empty());
}

TEST_CASE("v8: code of another function says nothing") {
  V8Inlined made;
  made.call.key = bpf::v8_key(V8Process::thread, 81, 9);
  CHECK(made.read().sites.empty());
  made.call.key = bpf::v8_key(V8Process::thread + 1, 81, 1);
  CHECK(made.read().sites.empty());
}

TEST_CASE("v8: two tables that say different things say nothing") {
  V8Inlined made;
  made.process.number(made.deopt, bpf::v8_array_items + 8 * 14, 0);  // another bytecode
  CHECK(made.read().sites.empty());
  // V8 did not know the place, but the function's own table does.
  const uint64_t positions =
      made.process.array_of_bytes(V8Table().add(36, V8Table::place(21, 1), false).bytes());
  made.process.put(made.code, 24, positions);
  REQUIRE(made.read().sites.size() == 3);
  CHECK(made.read().sites[0].position == 10);
}

TEST_CASE("v8: lists that lead nowhere, or in a circle") {
  for (const uint64_t place : {V8Table::place(7, 1), V8Table::place(7, 900), ~uint64_t{0}}) {
    V8Inlined made;
    const uint64_t inlined = made.process.array_of_bytes(std::string(32, '\0'));
    made.process.put(made.deopt, bpf::v8_array_items + 8 * 7, inlined);
    made.process.put(inlined, 16, place);
    made.process.put(inlined, 32, place);
    CHECK(made.read().sites.empty());
  }
}

TEST_CASE("v8: a frame of the interpreter") {
  V8Inlined made;
  made.call.info = made.inner;
  made.call.key = bpf::v8_key(V8Process::thread, 81, 3);
  made.call.site.offset = 53 + 1;
  CHECK(made.read(true).code == V8Code::bytecode);
  REQUIRE(made.read(true).sites.size() == 1);
  CHECK(made.read(true).sites[0].position == 10);
  made.call.site.offset = 53 + 2;
  CHECK(made.read(true).sites[0].position == 24);
  made.call.site.offset = 5;
  CHECK(made.read(true).sites.empty());
  made.call.site.offset = bpf::v8_no_offset;
  CHECK(made.read(true).sites.empty());
  made.call.info = made.middle;  // another function is there now
  made.call.site.offset = 55;
  CHECK(made.read(true).sites.empty());
}

TEST_CASE("v8: a frame of the baseline compiler, whose table of places is not made yet") {
  V8Inlined made;
  const uint64_t bytecode = made.process.bytecode("\x0c\x0c\xa9", made.process.object(131, 16));
  uint64_t begin = 0;
  const uint64_t code = made.process.code(
      baseline, bytecode, made.process.array_of_bytes("\x08\x04\x04\x04"), 32, begin);
  made.process.put(made.outer, bpf::v8_info_data, code);
  made.call.site.code = code;
  made.call.site.pc = begin + 14;
  REQUIRE(made.read().sites.size() == 1);
  CHECK(made.read().code == V8Code::bytecode);
  CHECK_FALSE(made.read().sites[0].position);
  made.process.put(bytecode, 32,
                   made.process.array_of_bytes(V8Table().add(1, V8Table::place(15)).bytes()));
  CHECK(made.read().sites[0].position == 15);
  made.process.put(made.outer, bpf::v8_info_data, uint64_t{0});  // another's bytecode
  CHECK(made.read().sites.empty());
}

TEST_CASE("v8: functions, where they begin, and lines between places") {
  V8Inlined made;
  const ReadV8Memory read = made.process.reader();
  const V8Memory memory(made.process.layout, V8Process::thread, read);
  auto record = std::make_unique<bpf::script_code_record>();
  REQUIRE(read_v8_function(memory, made.inner, *record));
  CHECK(record->first_line == 4);
  CHECK(std::string_view(reinterpret_cast<const char*>(record->name_text), record->name.bytes) ==
        "inner");
  CHECK(v8_start(memory, made.inner) == 21);
  CHECK(v8_lines_between(memory, made.outer, 5, 25) == 4);
  CHECK(v8_lines_between(memory, made.outer, 5, 5) == 0);
  CHECK_FALSE(v8_lines_between(memory, made.outer, 6, 5));
  CHECK_FALSE(v8_lines_between(memory, made.outer, 5, 5000));
  CHECK_FALSE(v8_start(memory, made.script));
  const uint64_t other = made.process.function("f", made.process.script("a\r\nb\rc\n\n", 5), 1, 0);
  CHECK(v8_lines_between(memory, other, 0, 8) == 4);
}

TEST_CASE("v8: what a word of a call stands for in a stack") {
  V8Inlined made;
  Scripts scripts;
  auto record = std::make_unique<bpf::script_code_record>();
  record->space = 1;
  record->thread = V8Process::thread;
  record->code = bpf::v8_word(made.call.key, &made.call.site);
  std::memcpy(record->lines, &made.call, sizeof(made.call));
  const ReadV8Memory read = made.process.reader();
  const auto frames = [&] {
    scripts.take_v8_call(*record, sizeof(*record), false, read);
    std::vector<Pc> places;
    scripts.place(SpaceId{1}, record->code, places);
    return places;
  };
  const std::vector<Pc> places = frames();
  REQUIRE(places.size() == 3);
  CHECK(scripts.all()[script_index(places[0])].function == "inner");
  CHECK(scripts.all()[script_index(places[0])].first_line == 4);
  CHECK(script_place(places[0]) == 1);
  CHECK(script_place(places[1]) == 2);
  CHECK(scripts.all()[script_index(places[2])].function == "outer");
  CHECK(script_place(places[2]) == 1);
  CHECK(scripts.calls_unread() == 0);
  // The code is gone: the function is still known.
  made.process.put(made.code, 40, uint64_t{0});
  REQUIRE(frames().size() == 1);
  CHECK(scripts.all()[script_index(frames()[0])].function == "outer");
  CHECK(script_place(frames()[0]) == script_no_place);
  CHECK(scripts.calls_unread() == 3);
  scripts.take_v8_call(*record, 100, false, read);  // a damaged record
  CHECK(scripts.calls_unread() == 3);
}

TEST_CASE("v8: damaged memory of calls is bounded and inert") {
  std::mt19937_64 random(18);
  for (int turn = 0; turn < 4000; ++turn) {
    V8Inlined made;
    std::vector<uint8_t>& bytes = made.process.bytes();
    const uint64_t some[] = {made.code, made.deopt, made.outer, ~0ULL, 1ULL << 62U, 0, 1};
    for (int i = 0; i < 4; ++i) {
      const uint64_t value = random() % 2 == 0 ? random() : some[random() % 7];
      std::memcpy(bytes.data() + random() % (bytes.size() / 8) * 8, &value, 8);
    }
    CHECK(made.read().sites.size() <= 65);
    made.call.site.offset = static_cast<uint32_t>(random() % 128);
    CHECK(made.read(true).sites.size() <= 1);
  }
}

}  // namespace
