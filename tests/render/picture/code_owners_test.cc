// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/code_owners.h"

#include <doctest/doctest.h>

#include "render/picture/code_shares.h"
#include "render/picture/legend.h"
#include "tests/render/small_profile.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

void put(Profile& p, std::initializer_list<std::string_view> path, int64_t value,
         std::string_view module = "/bin/app") {
  StackId stack;
  for (const std::string_view name : path) stack = p.push(stack, name, FrameKind::user, module);
  p.add(stack, std::array<int64_t, 1>{value});
}

std::vector<std::string> labels(const Profile& p, Shares of = {}) {
  std::vector<std::string> out;
  for (const LegendEntry& entry :
       code_legend(p, palette_by_name("code"), code_shares(p, width_of(p, WidthOf::shown), of)))
    out.push_back(entry.label);
  return out;
}

}  // namespace

TEST_CASE("packages of functions of Go") {
  CHECK(go_package("net/http.(*conn).serve") == "net/http");
  CHECK(go_package("main.main.func1") == "main");
  CHECK(go_package("github.com/x/y.(*T[go.shape.int]).Put") == "github.com/x/y");
  CHECK(go_package("slices.SortFunc[go.shape.[]a/b.T,go.shape.b.U]") == "slices");
  CHECK(go_package("gopkg.in/yaml%2ev3.(*parser).parse") == "gopkg.in/yaml%2ev3");
  for (const std::string_view other : {"", "main", ".x", "a/.x", "/x.f", "type:.eq.main.T",
                                       "std::vector<a.b>::f", "x(a.b)", "a b.c"})
    CHECK_MESSAGE(go_package(other).empty(), other);
}

TEST_CASE("a Go program's code is told apart by package") {
  Profile p = bytes();
  put(p, {"runtime.main", "main.main", "main.load", "runtime.mallocgc"}, 500);
  put(p, {"runtime.main", "main.main", "net/http.(*conn).serve"}, 300);
  put(p, {"runtime.main", "main.main", "github.com/x/y.Parse", "runtime.makeslice"}, 150);
  put(p, {"runtime.main", "runtime.doInit1"}, 30);
  put(p, {"runtime.main", "x_cgo_callers"}, 20);
  CHECK(labels(p) == std::vector<std::string>{"who called the allocator:", "application 52.0 %",
                                              "net/http 30.0 %", "github.com/x/y 15.0 %",
                                              "runtime 3.0 %"});
  const CodeShares shares = code_shares(p, width_of(p, WidthOf::shown));
  CHECK(shares.shares.at(1).is_package);
  // Packages with the same last part differ, and one has the same colour everywhere.
  const Palette palette = palette_by_name("code");
  const CodeOwners owners(p);
  const auto colour = [&](std::string_view name) {
    for (uint32_t i = 1; i < p.frames.size(); ++i)
      if (p.strings[p.frames[FrameId{i}].function] == name)
        return palette.colour(p, owners, p.frames[FrameId{i}], "same");
    return Rgb{};
  };
  CHECK(colour("net/http.(*conn).serve") ==
        palette.colour("same", BoxKind::user, {Owner::library, "net/http", true}));
  CHECK(colour("net/http.(*conn).serve") != colour("github.com/x/y.Parse"));
  CHECK(palette.package("a/http").value().low != palette.package("b/http").value().low);
  CHECK(colour("main.load") == palette.colour("same", BoxKind::user, {Owner::application}));
  CHECK(colour("x_cgo_callers") == colour("main.load"));
}

TEST_CASE("names with dots in other programs are not packages") {
  Profile p = bytes();
  put(p, {"main", "parse.cold"}, 6);
  put(p, {"main", "runtime.f", "x.part.0"}, 4);
  put(p, {"runtime.main", "main.main", "net/http.Get"}, 5, "/bin/go");
  put(p, {"net/http.Get"}, 5, "/lib/libgo.so");
  CHECK(labels(p) == std::vector<std::string>{"whose code:", "application 50.0 %",
                                              "libgo.so 25.0 %", "net/http 25.0 %"});
}

TEST_CASE("more packages than are named") {
  Profile p = bytes();
  for (int64_t i = 1; i <= 8; ++i)
    put(p, {"runtime.main", "p" + std::to_string(i) + ".f"}, i * 100);
  CHECK(labels(p).back() == "2 other packages 8.3 %");
  put(p, {"f"}, 1, "/lib/libz.so");
  CHECK(labels(p).back().starts_with("3 other libraries "));
}
