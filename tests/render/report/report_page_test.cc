// SPDX-License-Identifier: BSD-2-Clause
#include "render/report/report_page.h"

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "core/error.h"
#include "render/picture/assets.h"
#include "render/report/report_block.h"
#include "tests/render/report/made_report.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// Reads the numbers of a block.
class Numbers {
 public:
  explicit Numbers(std::string bytes) : bytes_(std::move(bytes)) {}

  uint64_t next() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      REQUIRE(at_ < bytes_.size());
      const auto part = static_cast<unsigned char>(bytes_[at_++]);
      value |= uint64_t{part & 127U} << shift;
      if (part < 128) return value;
    }
  }
  int64_t next_signed() {
    const uint64_t value = next();
    return static_cast<int64_t>((value >> 1U) ^ (0 - (value & 1U)));
  }
  std::vector<uint64_t> column(size_t count) {
    std::vector<uint64_t> out(count);
    for (uint64_t& value : out) value = next();
    return out;
  }
  std::vector<int64_t> signed_column(size_t count) {
    std::vector<int64_t> out(count);
    for (int64_t& value : out) value = next_signed();
    return out;
  }
  bool is_at_end() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

struct ReadRows {
  std::vector<uint64_t> node, born, freed;
  std::vector<std::vector<int64_t>> columns;
};

struct ReadBlock {
  std::vector<uint64_t> edges;
  ReadRows rows;
  std::vector<ReportShape> shapes;
  std::vector<std::vector<TimePoint>> lines;
};

uint32_t freed_bin(uint64_t born, uint64_t code) {
  return code == 0 ? ReportRow::never : static_cast<uint32_t>(born + code - 1);
}

std::vector<uint64_t> sums_of(std::vector<uint64_t> steps) {
  uint64_t at = 0;
  for (uint64_t& step : steps) step = at += step;
  return steps;
}

ReadBlock read_block(const Report& report, std::span<const uint32_t> node_of_stack) {
  Numbers in(report_block(report, node_of_stack));
  ReadBlock out;
  out.edges = sums_of(in.column(in.next()));
  const size_t count = in.next();
  out.rows.node = sums_of(in.column(count));
  out.rows.born = in.column(count);
  out.rows.freed = in.column(count);
  for (size_t i = 0; i < report.profile.types.size(); ++i)
    out.rows.columns.push_back(in.signed_column(count));
  const size_t shapes = in.next();
  const std::vector<uint64_t> lifetime = in.column(shapes), size = in.column(shapes),
                              born = in.column(shapes), freed = in.column(shapes);
  const std::vector<int64_t> bytes = in.signed_column(shapes), blocks = in.signed_column(shapes);
  for (size_t i = 0; i < shapes; ++i)
    out.shapes.push_back({static_cast<uint8_t>(lifetime[i]), static_cast<uint8_t>(size[i]),
                          static_cast<uint32_t>(born[i]), freed_bin(born[i], freed[i]), bytes[i],
                          blocks[i]});
  for (size_t lines = in.next(); lines > 0; --lines) {
    const size_t points = in.next();
    const std::vector<uint64_t> times = sums_of(in.column(points)), known = in.column(points);
    const std::vector<int64_t> values = in.signed_column(points);
    std::vector<TimePoint> line;
    for (size_t i = 0; i < points; ++i)
      line.push_back({static_cast<double>(times[i]) / 1e9,
                      known[i] == 1 ? std::optional(values[i]) : std::nullopt});
    out.lines.push_back(line);
  }
  CHECK(in.is_at_end());
  return out;
}

struct MadeTree {
  Profile profile;
  FrameTree tree;
};

MadeTree tree_of(const Report& report) {
  MadeTree out{profile_of_sizes(report), {}};
  out.tree = frame_tree(out.profile, Neighbours::by_name, width_of(out.profile, WidthOf::shown),
                        LineNodes::apart);
  return out;
}

std::string path_text(const Profile& profile, StackId stack) {
  std::string text;
  for (const FrameId frame : profile.path(stack))
    text += ";" + std::string(profile.strings[profile.frames[frame].function]);
  return text;
}

std::string node_text(const MadeTree& made, uint32_t node) {
  std::string text;
  for (; node != 0; node = made.tree.caller[node])
    text = ";" +
           std::string(made.profile.strings[made.profile.frames[made.tree.frame[node]].function]) +
           text;
  return text;
}

std::string page_of(const Report& report) {
  std::ostringstream out;
  write_report(out, report, {});
  return out.str();
}

size_t count_of(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("report: each stack is a node, and its rows are the node's") {
  for (const Report& report : {made_report(), made_changes(), made_huge_report()}) {
    const MadeTree made = tree_of(report);
    for (const ReportRow& row : report.rows) {
      const uint32_t node = made.tree.of_stack[row.stack.index];
      CHECK(node != 0);
      CHECK(node_text(made, node) == path_text(report.profile, row.stack));
    }
    const ReadBlock read = read_block(report, made.tree.of_stack);
    CHECK(read.edges == report.edges);
    using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
    std::map<Key, std::vector<int64_t>> wanted;
    for (size_t i = 0; i < report.rows.size(); ++i) {
      const ReportRow& row = report.rows[i];
      auto& sum = wanted[{made.tree.of_stack[row.stack.index], row.born, row.freed}];
      sum.resize(report.profile.types.size());
      for (size_t column = 0; column < sum.size(); ++column)
        sum[column] += report.values_of(i)[column];
    }
    REQUIRE(read.rows.node.size() == wanted.size());
    size_t i = 0;
    for (const auto& [key, sum] : wanted) {  // in the order of the block
      CHECK(Key(read.rows.node[i], read.rows.born[i],
                freed_bin(read.rows.born[i], read.rows.freed[i])) == key);
      for (size_t column = 0; column < sum.size(); ++column)
        CHECK(read.rows.columns[column][i] == sum[column]);
      ++i;
    }
  }
}

TEST_CASE("report: shapes and lines") {
  const Report report = made_report();
  const ReadBlock read = read_block(report, tree_of(report).tree.of_stack);
  CHECK(read.shapes == report.shapes);
  REQUIRE(read.lines.size() == 5);
  CHECK(read.lines[0] == report.lines.gauges[0].points);
  CHECK(read.lines[4] == report.lines.totals[0].points);
}

TEST_CASE("report: stacks that differ by source lines are nodes of their own") {
  Report report;
  report.edges = {0, 10, 20};
  report.profile.types = {{"bytes", Unit::bytes}};
  for (uint32_t line = 1; line <= 3; ++line) {
    const StackId stack = report.profile.push({}, "f", FrameKind::user, "app", "/src/f.cc", line);
    report.rows.push_back({stack, line == 3 ? 1U : 0U, ReportRow::never});
    report.values.push_back(100);
    report.profile.add(stack, std::array<int64_t, 1>{100});
  }
  const MadeTree made = tree_of(report);
  CHECK(made.tree.size() == 4);
  const ReadBlock read = read_block(report, made.tree.of_stack);
  CHECK(read.rows.columns[0] == std::vector<int64_t>{100, 100, 100});
  CHECK(page_of(report).find("class=\"mf-lines\"") != std::string::npos);
}

TEST_CASE("report: the tree holds the sums of all rows, and stacks that come back to 0") {
  const Report report = made_changes();
  MadeTree made = tree_of(report);
  set_sums(made.tree, report);
  int64_t sum = 0;
  for (size_t node = 0; node < made.tree.size(); ++node) sum += made.tree.row(node)[0];
  CHECK(sum == report.profile.total(0));
  bool guest = false;
  for (const ReportRow& row : report.rows)
    if (path_text(report.profile, row.stack).ends_with("guest")) {
      guest = true;
      CHECK(made.tree.row(made.tree.of_stack[row.stack.index])[0] == 0);
    }
  CHECK(guest);
}

TEST_CASE("report: sums that do not fit are refused") {
  Report report = made_huge_report();
  report.values[0] = std::numeric_limits<int64_t>::min();
  CHECK_THROWS_AS(page_of(report), Error);
  report.values[0] = std::numeric_limits<int64_t>::max();
  CHECK_THROWS_AS(page_of(report), Error);
}

TEST_CASE("report: what does not fit together is refused") {
  const auto refused = [](void (*spoil)(Report&)) {
    Report report = made_report();
    spoil(report);
    CHECK_THROWS_AS(page_of(report), Error);
  };
  refused([](Report& report) { report.edges = {0}; });
  refused([](Report& report) { report.edges[5] = report.edges[4]; });
  refused([](Report& report) { report.edges[0] = 1; });
  refused([](Report& report) { report.rows[3].born = 120; });
  refused([](Report& report) { report.rows[3].freed = 120; });
  refused([](Report& report) { report.rows[3].stack = StackId{1U << 30U}; });
  refused([](Report& report) { report.shapes[0].freed = 400; });
  refused([](Report& report) { report.values.pop_back(); });
  refused([](Report& report) { report.peak = 121; });
  refused([](Report& report) { report.marks[0].edge = 121; });
  refused([](Report& report) { report.gaps[0].until = 121; });
  refused([](Report& report) { report.profile.types.clear(); });
}

TEST_CASE("report: one page, with one script and one style that its policy names") {
  Report report = made_report();
  report.file = "</script><script>alert('file')</script>";
  const std::string page = page_of(report);
  CHECK(page.find(page_policy("report.js", "report_page.css")) != std::string::npos);
  CHECK(count_of(page, "<style>") == 1);
  // Five of them are data.
  CHECK(count_of(page, "<script") == 6);
  CHECK(count_of(page, "</script>") == 6);
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK(page.find("http://") == page.find("http://www.w3.org"));
  CHECK(page.find("sourceMappingURL") == std::string::npos);
  CHECK(page.find("Permission is hereby granted") != std::string::npos);
}

TEST_CASE("report: facts") {
  const std::string page = page_of(made_huge_report());
  const std::string begin = "class=\"mf-facts\">";
  const size_t from = page.find(begin) + begin.size();
  const nlohmann::json facts =
      nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  CHECK(facts["kind"] == "changes");
  CHECK(facts["file"] == "huge.mfr");
  CHECK(facts["big"] == true);
  CHECK(facts["icicle"] == false);
}

TEST_CASE("a live page may ask its server, and says which page it is") {
  const auto page_with = [](std::optional<LivePage> live) {
    std::ostringstream out;
    write_report(out, made_report(), {.live = live});
    return out.str();
  };
  const std::string plain = page_with(std::nullopt);
  CHECK(plain.find("connect-src") == std::string::npos);
  CHECK(plain.find("\"live\":{") == std::string::npos);
  const std::string live = page_with(LivePage{.version = 7, .has_ended = true});
  CHECK(live.find("; connect-src 'self'\">") != std::string::npos);
  CHECK(live.find("\"live\":{\"version\":7,\"ended\":true}") != std::string::npos);
  CHECK(live_state({.version = 7, .has_ended = true}) == "{\"version\":7,\"ended\":true}\n");
  CHECK(live_state({.version = 8}) == "{\"version\":8,\"ended\":false}\n");
}

TEST_CASE("the page until there is a report comes again, and shows any text as text") {
  const std::string page = waiting_page("not <b>yet</b>", false);
  CHECK(page.find("<p>not &lt;b&gt;yet&lt;/b&gt;</p>") != std::string::npos);
  CHECK(page.find("http-equiv=\"refresh\"") != std::string::npos);
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(waiting_page("over", true).find("refresh") == std::string::npos);
}
