// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <array>
#include <sstream>

#include "render/output.h"
#include "tests/collapse/inputs/inputs.h"
#include "tests/collapse/inputs/round_trip.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string written(const Profile& profile) {
  std::ostringstream out;
  write_json(out, profile, {});
  return out.str();
}

}  // namespace

TEST_CASE("what memflame writes as JSON reads back the same") {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Profile p = random_profile(seed, {.decimals = 2});
    const std::string text = written(p);
    const Profile back = read_text(text, {}, {.lines = true});
    CAPTURE(seed);
    CHECK(told(back) == told(p));
    CHECK(back.types == p.types);
    CHECK(back.shown == p.shown);
    CHECK(written(back) == text);
  }
}

TEST_CASE("kinds and modules; files and lines where they are asked for") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const StackId main = p.push(p.push({}, "[server]", FrameKind::process), "[f]");
  p.add(p.push(main, "g", FrameKind::inlined, "", "a.c", 7), std::array<int64_t, 1>{1});
  p.add(p.push(main, "g", FrameKind::inlined, "", "b.c", 8), std::array<int64_t, 1>{2});
  p.add(p.push({}, "[libfoo.so+0x12]", FrameKind::unknown), std::array<int64_t, 1>{4});
  p.add(p.push({}, "[lost: ring buffer full]", FrameKind::note), std::array<int64_t, 1>{8});
  CHECK(told(read_text(written(p), {}, {.lines = true})) == told(p));
  CHECK(read_text(written(p)).touched().size() == 3);
  // Other programs need not write them.
  const std::string begin = R"({"format":"memflame-profile","version":1,
    "value_types":[{"name":"live","unit":"bytes"}],"places":[{"kind":"kernel","x":1},{"kind":"x"}],)";
  const Profile bare = read_text(begin + R"("stacks":[{"frames":["a","[b+0x1]"],"values":[1]}]})");
  CHECK(bare.frames[bare.path(bare.touched()[0])[1]].kind == FrameKind::unknown);
  CHECK(bare.losses[Loss::input_line].events == 1);
  const Profile odd = read_text(begin + R"("stacks":[{"places":[1,-1,3],"frames":["a","b","c","d"],
                                           "values":[1]}]})");
  CHECK(stacks(odd, {}, true) == Stacks{{"a_[k];b;c;d", 1}});
  CHECK(odd.losses[Loss::input_line].events == 4);
  CHECK(odd.meta.notes == std::vector<std::string>{
                              "1 record not understood (an unknown kind): 'x'",
                              "3 records not understood (a place that is not in the list): 'b'"});
}

TEST_CASE("all that stands beside the stacks") {
  Profile p;
  p.types = {{"live", Unit::pages}};
  p.meta = {.title = "T \"1\"",
            .command = "alloc -p 1",
            .host = "h",
            .seconds = 0.3,
            .sampling = "1 in 3",
            .reconciliation = {{"VmRSS growth", INT64_MAX, INT64_MIN}, {"h", 1, std::nullopt}},
            .notes = {"n1", "n2"}};
  p.losses.add(Loss::ring_full, UINT64_MAX, -3);
  const Profile back = read_text(written(p));
  CHECK(written(back) == written(p));
  CHECK(back.meta.seconds == 0.3);
  CHECK(back.losses[Loss::ring_full].events == UINT64_MAX);
}

TEST_CASE("errors of estimates come back as variances") {
  Profile p;
  p.types = {{"calls"}, {"variance", Unit::variance}, {"live", Unit::bytes, 1, 4.0}};
  p.shown = 2;
  p.meta.sampling = "1 in 10 allocations";
  p.add(p.push(p.push({}, "main"), "f"), std::array<int64_t, 3>{1, 16, 100});
  p.add(p.push({}, "main"), std::array<int64_t, 3>{1, 3, 50});
  const Profile back = read_text(written(p));
  CHECK(written(back) == written(p));
  CHECK(back.types[1].variance == 2);
  CHECK(back.total_error(1) == doctest::Approx(p.total_error(2)).epsilon(0.001));
}

TEST_CASE("what does not fit is refused or counted") {
  const std::string begin = R"({"format":"memflame-profile","version":1,)";
  const std::string types = R"("value_types":[{"name":"live","unit":"bytes"}])";
  CHECK(recognised("{ \"format\" :\n \"memflame-profile\"") == "memflame-json");
  CHECK(recognised(R"({"format":"other","x":"memflame-profile"})") != "memflame-json");
  const auto error = [&](const std::string& rest) { return error_of(begin + rest + "}"); };
  CHECK(error(R"("x":1)") == "text: it does not say what its values are");
  CHECK(error(R"("stacks":[{"frames":["a"],"values":[1]}],)" + types).find("come before") !=
        std::string::npos);
  CHECK(error(types + R"(,"stacks":[{"frames":["a"],"values":[9223372036854775808]}])")
            .find("64 bits") != std::string::npos);
  CHECK(error(types + R"(,"stacks":[{"frames":["a"],"values":[9223372036854775807]},
                          {"frames":["a"],"values":[1]}])")
            .find("64 bits") != std::string::npos);
  CHECK(error(types + R"(,"stacks":[{"frames":["a"],"values":[1]}], "value_types":[{}])")
            .find("too late") != std::string::npos);
  const Profile p = read_text(begin + types + R"(,"stacks":[{"frames":["a"],"values":[1,2]},
                                {"frames":[],"values":[3]},{"frames":["[x+0x1]"],"values":[4]}]})");
  CHECK(stacks(p) == Stacks{{"[no stack]", 3}, {"[x+0x1]", 4}});
  CHECK(p.losses[Loss::input_line].events == 1);
  CHECK(error_of("{\"format\":\"memflame-profile\"").find("ends in the middle") !=
        std::string::npos);
}
