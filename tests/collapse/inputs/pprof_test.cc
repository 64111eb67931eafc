// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <protozero/pbf_writer.hpp>
#include <sstream>

#include "collapse/inputs/pprof/pprof_unnamed.h"
#include "render/output.h"
#include "tests/collapse/inputs/inputs.h"
#include "tests/collapse/inputs/round_trip.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using protozero::pbf_writer;
using Numbers = std::vector<uint64_t>;
using Values = std::vector<int64_t>;

// A profile made by hand, with the field numbers of the format's definition.
struct Builder {
  std::string bytes;
  std::vector<std::string> texts{""};

  int64_t text(const std::string& text) {
    for (size_t i = 0; i < texts.size(); ++i)
      if (texts[i] == text) return static_cast<int64_t>(i);
    texts.push_back(text);
    return static_cast<int64_t>(texts.size() - 1);
  }
  void pair(uint32_t tag, const std::string& type, const std::string& unit) {
    const int64_t type_at = text(type), unit_at = text(unit);
    pbf_writer profile(bytes);
    pbf_writer one(profile, tag);
    one.add_int64(1, type_at);
    one.add_int64(2, unit_at);
  }
  void type(const std::string& name, const std::string& unit) { pair(1, name, unit); }
  void sample(const Numbers& locations, const Values& values, bool packed = true,
              const std::map<std::string, std::string>& labels = {}) {
    for (const auto& [key, value] : labels) text(key), text(value);
    pbf_writer profile(bytes);
    pbf_writer sample(profile, 2);
    if (packed) {
      sample.add_packed_uint64(1, locations.begin(), locations.end());
      sample.add_packed_int64(2, values.begin(), values.end());
    } else {
      for (const uint64_t id : locations) sample.add_uint64(1, id);
      for (const int64_t value : values) sample.add_int64(2, value);
    }
    for (const auto& [key, value] : labels) {
      pbf_writer label(sample, 3);
      label.add_int64(1, text(key));
      label.add_int64(2, text(value));
    }
  }
  void mapping(uint64_t id, const std::string& file, uint64_t start = 0, uint64_t offset = 0) {
    const int64_t file_at = text(file);
    pbf_writer profile(bytes);
    pbf_writer mapping(profile, 3);
    mapping.add_uint64(1, id);
    mapping.add_uint64(2, start);
    mapping.add_uint64(4, offset);
    mapping.add_int64(5, file_at);
  }
  // Functions and lines, innermost first.
  void location(uint64_t id, const std::vector<std::pair<uint64_t, int64_t>>& lines,
                uint64_t mapping = 0, uint64_t address = 0) {
    pbf_writer profile(bytes);
    pbf_writer location(profile, 4);
    location.add_uint64(1, id);
    location.add_uint64(2, mapping);
    location.add_uint64(3, address);
    for (const auto& [function, number] : lines) {
      pbf_writer line(location, 4);
      line.add_uint64(1, function);
      line.add_int64(2, number);
    }
  }
  void function(uint64_t id, const std::string& name, const std::string& file = "") {
    const int64_t name_at = text(name), file_at = text(file);
    pbf_writer profile(bytes);
    pbf_writer function(profile, 5);
    function.add_uint64(1, id);
    function.add_int64(2, name_at);
    function.add_int64(3, name_at);
    function.add_int64(4, file_at);
  }
  void number(uint32_t tag, int64_t value) { pbf_writer(bytes).add_int64(tag, value); }
  std::string done() const {
    std::string whole = bytes;
    for (const std::string& text : texts) pbf_writer(whole).add_string(6, text);
    return whole;
  }
};

// main -> f with g inlined -> new
Builder example() {
  Builder b;
  b.type("inuse_objects", "count");
  b.type("inuse_space", "bytes");
  b.sample({30, 20, 10}, {2, 4096});
  b.sample({20, 10}, {1, 100}, false);
  b.mapping(1, "/bin/server", 0x400000, 0x1000);
  b.location(10, {{1, 7}}, 1);
  b.location(20, {{3, 5}, {2, 9}}, 1);
  b.location(30, {}, 1, 0x400010);
  b.function(1, "main", "main.c");
  b.function(2, "f", "f.c");
  b.function(3, "g", "g.h");
  return b;
}

std::string written(const Profile& profile) {
  std::ostringstream out;
  write_pprof(out, profile, {});
  return out.str();
}

bool has_note(const Profile& profile, const std::string& text) {
  for (const std::string& note : profile.meta.notes)
    if (note.find(text) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("all columns, inlined frames, places without a name") {
  const Profile p = read_text(example().done());
  CHECK(p.types == std::vector<ValueType>{{"inuse_objects"}, {"inuse_space", Unit::bytes}});
  CHECK(p.shown == 1);
  CHECK(stacks(p, {}, true) ==
        Stacks{{"main;f;g_[i];[server+0x1010]", 4096}, {"main;f;g_[i]", 100}});
  CHECK(stacks(p, "inuse_objects") == Stacks{{"main;f;g;[server+0x1010]", 2}, {"main;f;g", 1}});
  CHECK(p.losses[Loss::unknown_symbol].events == 1);
  const Frame& leaf = p.frames[p.path(p.touched()[0]).back()];
  CHECK(leaf.kind == FrameKind::unknown);
  CHECK(p.strings[leaf.module] == "/bin/server");
  CHECK(told(p).begin()->first.find("main.c") == std::string::npos);
  const Profile lines = read_text(example().done(), {}, {.lines = true});
  CHECK(told(lines).count("main | 0 | /bin/server | main.c:7\nf | 0 | /bin/server | f.c:9\n"
                          "g | 2 | /bin/server | g.h:5\n") == 1);
}

TEST_CASE("units become their base unit, exactly") {
  Builder b;
  for (const char* unit : {"kilobytes", "MB", "milliseconds", "pages", "requests", "seconds"})
    b.type(unit, unit);
  b.sample({}, {3, -2, 5, 7, 11, 1});
  const Profile p = read_text(b.done());
  const auto values = p.values(p.touched()[0]);
  CHECK(Values(values.begin(), values.end()) == Values{3072, -2097152, 5000000, 7, 11, 1000000000});
  CHECK(p.types[0].unit == Unit::bytes);
  CHECK(p.types[2].unit == Unit::nanoseconds);
  CHECK(p.types[3].unit == Unit::pages);
  CHECK(p.types[4].unit == Unit::count);
  CHECK(stacks(p) == Stacks{{"[no stack]", 1000000000}});
  Builder large;
  large.type("space", "kilobytes");
  large.sample({}, {INT64_MAX / 1000});
  CHECK(error_of(large.done()) == "text: a value of space leaves the range of 64 bits");
}

TEST_CASE("what is shown: the profile's own choice, else memory in use, else the last") {
  Builder b = example();
  b.type("alloc_space", "bytes");
  b.sample({1}, {1, 2, 3});
  CHECK(read_text(b.done()).shown == 1);
  b.number(14, b.text("alloc_space"));
  CHECK(read_text(b.done()).shown == 2);
}

TEST_CASE("origin, period and comments") {
  Builder b = example();
  b.number(9, 1700000000000000000);
  b.number(10, 1500000000);
  b.pair(11, "space", "bytes");
  b.number(12, 524288);
  b.number(13, b.text("build 7"));
  const Profile p = read_text(b.done());
  CHECK(p.meta.seconds == 1.5);
  CHECK(p.meta.sampling == "1 in 512.0 KiB of space, already scaled by the profiler");
  CHECK(p.meta.notes == std::vector<std::string>{"build 7", "taken 2023-11-14 22:13:20 UTC"});
}

TEST_CASE("when a profile was taken, and for how long, is written and read") {
  Profile p = read_text(example().done());
  const auto again = [&] { return read_text(written(p)); };
  CHECK(again().meta.began_ns == 0);
  p.meta.began_ns = 1'700'000'000'000'000'123;
  p.meta.seconds = 2.5;
  const Profile once = again();
  CHECK(once.meta.began_ns == 1'700'000'000'000'000'123);
  CHECK(once.meta.seconds == 2.5);
  CHECK(has_note(once, "taken 2023-11-14 22:13:20 UTC"));
  p = once;
  CHECK(again().meta.notes == once.meta.notes);
}

TEST_CASE("frames that the profile itself wants left out") {
  Builder b;
  b.type("space", "bytes");
  b.sample({4, 3, 2, 1}, {1});
  b.sample({4, 1}, {2});   // an allocator with arguments in its name
  b.sample({3, 4}, {4});   // nobody but the allocator
  b.sample({5, 1}, {8});   // inlined
  b.sample({6, 1}, {16});  // kept
  for (const uint64_t id : Numbers{1, 2, 3, 4, 6}) b.location(id, {{id, 0}});
  b.location(5, {{4, 0}, {2, 0}});
  b.function(1, "main");
  b.function(2, "f");
  b.function(3, "malloc");
  b.function(4, "operator new(unsigned long)");
  b.function(6, "malloc_trim");
  CHECK(read_text(b.done()).stacks.size() > 6);
  b.number(7, b.text("malloc.*|operator new"));
  b.number(8, b.text("malloc_trim"));
  CHECK(stacks(read_text(b.done()), {}, true) == Stacks{{"main;f", 9},
                                                        {"main", 2},
                                                        {"operator new(unsigned long);malloc", 4},
                                                        {"main;malloc_trim", 16}});
}

TEST_CASE("labels: the program where options want it") {
  Builder b = example();
  b.sample({10}, {1, 1}, true, {{"comm", "srv"}, {"pid", "12"}, {"tid", "13"}, {"span", "x"}});
  CHECK(stacks(read_text(b.done()))["srv;main"] == 1);
  CHECK(stacks(read_text(b.done(), {}, {.pid = true, .tid = true}))["srv-12/13;main"] == 1);
  CHECK(stacks(read_text(b.done(), {}, {.tid = true}))["srv-12/13;main"] == 1);
  CHECK(stacks(read_text(b.done(), {}, {.comm = false}))["main"] == 1);
  CHECK(has_note(read_text(b.done(), {}, {.pid = true, .tid = true}), "not used: span"));
}

TEST_CASE("what is not there is counted, and the figures stay") {
  Builder b = example();
  b.sample({99, 10}, {1, 10});
  b.sample({40}, {1, 20});
  b.sample({10}, {1});
  b.location(40, {{77, 1}}, 55);
  b.location(40, {});
  b.function(9, "unused");
  b.number(14, 12345);
  const Profile p = read_text(b.done());
  CHECK(stacks(p)["main;[unknown]"] == 10);
  CHECK(stacks(p)["[unknown]"] == 20);
  CHECK(p.total(1) == 4226);
  for (const char* text : {"a location that is not there", "a function that is not there",
                           "a mapping that is not there", "a text that is not there",
                           "another number of values", "used twice"})
    CHECK_MESSAGE(has_note(p, text), text);
}

TEST_CASE("a damaged comment on code without names keeps what precedes the damage") {
  pprof::UnnamedCode code;
  CHECK_FALSE(code.take("# unnamed aa11 20 10 30 x"));
  CHECK(code.start_of("aa11", 0x15) == 0x10);
  CHECK(code.start_of("aa11", 0x2f) == 0x20);
}

TEST_CASE("comments that contradict each other") {
  Builder b = example();
  b.number(13, b.text("# memflame folded unit=bytes value=live total=1"));
  b.number(13, b.text("# memflame folded unit=pages value=gained total=1"));
  CHECK(error_of(b.done()).starts_with("text: texts of live"));
}

TEST_CASE("damaged profiles are refused") {
  const std::string whole = example().done();
  for (size_t size = whole.size() - 1; size > whole.size() - 3; --size)
    CHECK(error_of(whole.substr(0, size), "pprof").find("was it cut off?") != std::string::npos);
  for (size_t size = 0; size < whole.size(); ++size) error_of(whole.substr(0, size), "pprof");
  CHECK(error_of({"\x12\x00", 2}, "pprof") == "text: it does not say what its values are");
  Builder many;
  for (int i = 0; i < 1025; ++i) many.type("x", "bytes");
  CHECK(error_of(many.done()).find("1,024") != std::string::npos);
}

// One short sample may name a location many times, and the location may hold many lines.
TEST_CASE("a small file does not unfold to a large profile") {
  Builder b;
  b.type("space", "bytes");
  b.sample(Numbers(20000, 1), {1});
  b.location(1, std::vector<std::pair<uint64_t, int64_t>>(1000, {1, 1}));
  b.function(1, "f");
  CHECK(error_of(b.done()).find("8 frames a byte") != std::string::npos);
}

TEST_CASE("sums beyond 64 bits are an error") {
  Builder b = example();
  b.sample({10}, {INT64_MAX, 0});
  b.sample({10}, {1, 0});
  CHECK(error_of(b.done()).find("64 bits") != std::string::npos);
}

TEST_CASE("recognition") {
  CHECK(recognised(example().done()) == "pprof");
  CHECK(recognised(example().done().substr(0, 12)) == "pprof");
  for (const char* text :
       {"main;f 12\n", "", "\n\n\nmain 1\n", "\n\x04main", "\x12\x03\x01\x02\x03"})
    CHECK(recognised(text) != "pprof");
}

TEST_CASE("what is written reads back the same") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Profile p = random_profile(seed);
    const std::string bytes = written(p);
    const Profile back = read_text(bytes, {}, {.lines = true});
    CAPTURE(seed);
    CHECK(told(back) == told(p));
    CHECK(back.types == p.types);
    CHECK(back.shown == p.shown);
    CHECK(back.meta.title == p.meta.title);
    CHECK(back.meta.notes == p.meta.notes);
    CHECK(back.losses[Loss::ring_full].bytes == 4096);
    CHECK(written(back) == bytes);
  }
}

TEST_CASE("the order of insertion does not show, empty profiles are profiles too") {
  Profile a, b;
  a.types = b.types = {{"live", Unit::bytes}};
  for (const char* name : {"x", "y", "a"}) a.add(a.push({}, name), Values{1});
  for (const char* name : {"a", "x", "y"}) b.add(b.push({}, name), Values{1});
  CHECK(written(a) == written(b));
  Profile empty;
  empty.types = {{"live", Unit::bytes}};
  CHECK(read_text(written(empty)).types == empty.types);
}

TEST_CASE("a million frames deep") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  StackId top;
  for (size_t i = 0; i < scaled(1'000'000); ++i) top = p.push(top, i % 2 == 0 ? "f" : "g");
  p.add(top, Values{5});
  const Profile back = read_text(written(p));
  CHECK(back.path(back.touched()[0]).size() == scaled(1'000'000));
  CHECK(back.total(0) == 5);
}
