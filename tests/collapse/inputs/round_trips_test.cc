// SPDX-License-Identifier: BSD-2-Clause
// The hardest profile through every writer and back: what comes back, and what each says is lost.
#include <doctest/doctest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/difference.h"
#include "core/kind_names.h"
#include "render/output.h"
#include "tests/collapse/inputs/inputs.h"
#include "tests/collapse/inputs/round_trip.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Values = std::array<int64_t, 3>;
using Json = nlohmann::json;
using Texts = std::vector<std::string>;

// How a format writes what it cannot take: a line feed, a byte that is not text, a semicolon.
struct Spelling {
  std::string control = "\n", broken = "\xff", semicolon = ";";
};
const std::string replacement = "\xEF\xBF\xBD";
const Spelling as_text{replacement, replacement, ";"};
const Spelling as_folded{replacement, replacement, ":"};

// A difference with a third column of fractions; figures beyond 2^53, negative ones, one function
// in two modules and at two lines, names that look like numbers, marks, comments and markup.
Profile hardest(const Spelling& spelling = {}) {
  Profile p;
  p.types = {{"before", Unit::bytes}, {"after", Unit::bytes}, {"held, \"all\"", Unit::nanoseconds}};
  p.types[2].decimals = 3;
  p.shown = 1;
  p.meta.title = "Title; \"quoted\" <x>";
  p.meta.notes = {"a note", "another; one"};
  p.losses.add(Loss::ring_full, 3, 4096);
  const StackId root = p.push({}, "my server 1", FrameKind::process);
  const StackId main = p.push(root, "main", FrameKind::user, "/opt/my app/server", "main.cc", 7);
  constexpr int64_t large = (int64_t{1} << 60U) + 1;
  const auto add = [&](StackId caller, const std::string& name, const Values& values,
                       FrameKind kind = FrameKind::user, std::string_view module = "",
                       std::string_view file = "", uint32_t line = 0) {
    const StackId stack = p.push(caller, name, kind, module, file, line);
    p.add(stack, values);
    return stack;
  };
  add(main, "malloc", {large, -large, 1}, FrameKind::user, "/lib/libc.so.6");
  add(main, "malloc", {1, (int64_t{1} << 53U) + 1, 1500}, FrameKind::user, "/lib/libjemalloc.so");
  add(main, "f", {3, 5, 0}, FrameKind::inlined, "", "a b.h", 1);
  add(main, "f", {-7, 11, 1}, FrameKind::inlined, "", "a b.h", 70000);
  add(main, "do_mmap", {0, 13, 2}, FrameKind::kernel, "[kernel]");
  add(main, "LFoo" + spelling.semicolon + "::bar", {17, 0, 4}, FrameKind::jit);
  add(main, "[libx.so+0x12]", {19, 23, 8}, FrameKind::unknown);
  add({}, "[lost: ring buffer full]", {29, 31, 16}, FrameKind::note);
  for (const std::string& name :
       {std::string("(anonymous namespace)::f<std::function<void ()> >"),
        std::string("worker 12 345"), std::string("# memflame x"), std::string(" blanks "),
        std::string("\"\\,'&</script>]]>"), "漢字" + spelling.control + "x" + spelling.broken,
        std::string("operator->"), "a" + spelling.semicolon + "b" + spelling.semicolon})
    add(main, name, {static_cast<int64_t>(name.front()), -41, 999});
  return p;
}

std::string written(const char* format, const Profile& p, const RenderOptions& options = {}) {
  std::ostringstream out;
  output_for(format, "").write(out, p, options);
  return out.str();
}

Texts lost(const char* format) { return left_out(output_for(format, ""), hardest()); }

// The first stack that differs is told.
void check(const Told& got, const Told& wanted) {
  for (const Told* from : {&wanted, &got})
    for (const auto& entry : *from) {
      const std::string& path = entry.first;
      CAPTURE(path);
      REQUIRE(got.count(path) == 1);
      REQUIRE(wanted.count(path) == 1);
      REQUIRE(got.at(path) == wanted.at(path));
    }
}

// Without modules, files and lines: only names and kinds.
Profile bare(const Profile& p) {
  Profile out;
  out.types = p.types;
  for (const StackId stack : p.touched()) {
    StackId top;
    for (const FrameId id : p.path(stack))
      top = out.push(top, p.strings[p.frames[id].function], p.frames[id].kind);
    out.add(top, p.values(stack));
  }
  return out;
}

// Changes the figures of every stack; those with nothing left are left out.
Told changed(const Told& all, const auto& change) {
  Told out;
  for (auto [path, values] : all) {
    change(values);
    if (std::any_of(values.begin(), values.end(), [](int64_t v) { return v != 0; }))
      out[path] = values;
  }
  return out;
}

}  // namespace

TEST_CASE("JSON holds everything") {
  const Profile back = read_text(written("json", hardest()), {}, {.lines = true});
  CHECK(lost("json").empty());
  check(told(back), told(hardest(as_text)));
  CHECK(back.types == hardest().types);
  CHECK(back.shown == 1);
  CHECK(back.meta.title == hardest().meta.title);
  CHECK(back.meta.notes == hardest().meta.notes);
  CHECK(back.losses[Loss::ring_full].bytes == 4096);
  CHECK(back.losses[Loss::replaced_bytes].events == 2);
  const std::string again = written("json", back);
  CHECK(written("json", read_text(again, {}, {.lines = true})) == again);
}

TEST_CASE("pprof holds everything but fractions") {
  const Profile back = read_text(written("pprof", hardest()), {}, {.lines = true});
  CHECK(lost("pprof") == Texts{"fractions: figures are rounded"});
  const auto rounded = [](std::vector<int64_t>& values) {
    values[2] = (values[2] + (values[2] < 0 ? -500 : 500)) / 1000;
  };
  check(told(back), changed(told(hardest(as_text)), rounded));
  CHECK(back.meta.title == hardest().meta.title);
  CHECK(back.meta.notes == hardest().meta.notes);
  CHECK(back.losses[Loss::ring_full].bytes == 4096);
}

TEST_CASE("speedscope holds everything but negative figures") {
  const Profile back =
      read_text(written("speedscope", hardest(), {.lines = true}), {}, {.lines = true});
  CHECK(lost("speedscope") ==
        Texts{"figures beyond 2^53, which its readers round", "negative figures"});
  const auto positive = [](std::vector<int64_t>& values) {
    for (int64_t& value : values) value = std::max<int64_t>(value, 0);
  };
  check(told(back), changed(told(hardest(as_text)), positive));
  CHECK(back.types == hardest().types);
  CHECK(back.meta.notes == hardest().meta.notes);
}

TEST_CASE("folded text holds names, kinds and figures") {
  CHECK(lost("folded") == Texts{"the columns before, held, \"all\""});
  const Told expected = told(bare(hardest(as_folded)));
  const Profile all = read_text(written("folded", hardest(), {.all_values = true}));
  check(told(all), expected);
  CHECK(all.types[2].decimals == 3);
  CHECK(all.types[2].name == "held---all-");
  CHECK(all.meta.title == hardest().meta.title);
  CHECK(all.meta.notes == hardest().meta.notes);
  CHECK(all.losses[Loss::ring_full].bytes == 4096);
  // By itself: the two columns of a difference.
  const Profile two = read_text(written("folded", hardest()));
  CHECK(difference_of(two).has_value());
  const auto first_two = [](std::vector<int64_t>& values) { values.resize(2); };
  check(told(two), changed(expected, first_two));
  const Profile one = read_text(written("folded", hardest(), {.one_value = true}));
  CHECK(one.total(0) == hardest().total(1));
}

TEST_CASE("CSV holds names, kinds and figures") {
  CHECK(lost("csv") == Texts{"the modules of frames", "title, notes and losses"});
  const std::string text = written("csv", hardest());
  std::vector<Texts> rows{{""}};
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && quoted && text[i + 1] == '"')
      rows.back().back() += text[++i];
    else if (text[i] == '"')
      quoted = !quoted;
    else if (text[i] == ',' && !quoted)
      rows.back().emplace_back();
    else if (text[i] == '\n' && !quoted)
      rows.push_back({""});
    else if (text[i] != '\r')
      rows.back().back() += text[i];
  }
  rows.pop_back();
  CHECK(rows.front() ==
        Texts{"stack", "before (bytes)", "after (bytes)", "held, \"all\" (nanoseconds)", "source"});
  std::array<Stacks, 3> columns;
  for (size_t i = 1; i < rows.size(); ++i) {
    REQUIRE(rows[i].size() == 5);
    std::string& fraction = rows[i][3];
    REQUIRE(fraction[fraction.size() - 4] == '.');
    fraction.erase(fraction.size() - 4, 1);
    for (size_t c = 0; c < 3; ++c)
      if (const int64_t value = std::stoll(rows[i][c + 1]); value != 0)
        columns[c][rows[i][0]] = value;
  }
  const Profile expected = hardest(as_folded);
  for (size_t c = 0; c < 3; ++c)
    CHECK(columns[c] == stacks(expected, expected.types[c].name, true));
}

TEST_CASE("a tree holds everything but title, notes and losses") {
  CHECK(lost("tree") ==
        Texts{"figures beyond 2^53, which its readers round", "title, notes and losses"});
  const Json root = Json::parse(written("tree", hardest(), {.lines = true}));
  Profile back;
  back.types = hardest().types;
  const auto figures = [](const Json& node) {
    const Json& values = node["values"];
    return Values{values["before"], values["after"],
                  std::llround(values["held, \"all\""].get<double>() * 1000)};
  };
  const auto visit = [&](const auto& self, const Json& node, StackId top) -> void {
    Values own = figures(node);
    if (&node != &root) {
      FrameKind kind = FrameKind::user;
      if (node.contains("kind")) REQUIRE(parse_kind(node["kind"].get<std::string>(), kind));
      top = back.push(top, node["name"].get<std::string>(), kind, node.value("module", ""),
                      node.value("file", ""), node.value("line", 0U));
    }
    if (node.contains("children"))
      for (const Json& child : node["children"]) {
        const Values its = figures(child);
        for (size_t i = 0; i < own.size(); ++i) own[i] -= its[i];
        self(self, child, top);
      }
    CHECK(node["self"] == own[1]);
    if (top) back.add(top, own);
  };
  visit(visit, root, {});
  check(told(back), told(hardest(as_text)));
}
