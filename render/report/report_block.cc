// SPDX-License-Identifier: BSD-2-Clause
#include "render/report/report_block.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "render/picture/packed.h"

namespace memflame {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw Error(std::string("internal: a report whose ") + what);
}

int64_t unsigned_size(int64_t value) {
  if (value == INT64_MIN) sums_too_large();
  return value < 0 ? -value : value;
}

// "1 + bins after `born`", or 0
uint64_t freed_code(uint32_t born, uint32_t freed) {
  return freed == ReportRow::never ? 0 : uint64_t{freed} - born + 1;
}

// Rows of nodes, with those that are alike added up.
struct NodeRows {
  std::vector<uint32_t> node, born, freed;
  std::vector<int64_t> values;
};

NodeRows rows_of_nodes(const Report& report, std::span<const uint32_t> node_of_stack) {
  const size_t columns = report.profile.types.size();
  std::vector<uint32_t> order(report.rows.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto key = [&](uint32_t i) {
    const ReportRow& row = report.rows[i];
    return std::tuple(node_of_stack[row.stack.index], row.born, row.freed);
  };
  std::ranges::stable_sort(order, {}, key);
  NodeRows out;
  for (size_t k = 0; k < order.size(); ++k) {
    const std::span<const int64_t> values = report.values_of(order[k]);
    if (k > 0 && key(order[k - 1]) == key(order[k])) {
      for (size_t column = 0; column < columns; ++column)
        if (!add_to(out.values[out.values.size() - columns + column], values[column],
                    report.profile.types[column].unit))
          sums_too_large();
      continue;
    }
    const auto [node, born, freed] = key(order[k]);
    out.node.push_back(node);
    out.born.push_back(born);
    out.freed.push_back(freed);
    out.values.insert(out.values.end(), values.begin(), values.end());
  }
  return out;
}

void append_rows(std::string& out, const NodeRows& rows, size_t columns) {
  append_number(out, rows.node.size());
  uint32_t before = 0;
  for (const uint32_t node : rows.node) append_number(out, node - std::exchange(before, node));
  for (const uint32_t born : rows.born) append_number(out, born);
  for (size_t i = 0; i < rows.freed.size(); ++i)
    append_number(out, freed_code(rows.born[i], rows.freed[i]));
  for (size_t column = 0; column < columns; ++column)
    for (size_t i = 0; i < rows.node.size(); ++i)
      append_signed(out, rows.values[i * columns + column]);
}

void append_shapes(std::string& out, const std::vector<ReportShape>& shapes) {
  append_number(out, shapes.size());
  for (const ReportShape& shape : shapes) append_number(out, shape.lifetime);
  for (const ReportShape& shape : shapes) append_number(out, shape.size);
  for (const ReportShape& shape : shapes) append_number(out, shape.born);
  for (const ReportShape& shape : shapes) append_number(out, freed_code(shape.born, shape.freed));
  for (const ReportShape& shape : shapes) append_signed(out, shape.bytes);
  for (const ReportShape& shape : shapes) append_signed(out, shape.blocks);
}

// Not a number, negative and huge times are 0 or the largest.
uint64_t in_nanoseconds(double seconds) {
  constexpr double most = 9e9;
  if (!(seconds > 0)) return 0;
  return static_cast<uint64_t>(std::llround(std::min(seconds, most) * 1e9));
}

void append_points(std::string& out, const TimeLine& line) {
  append_number(out, line.points.size());
  uint64_t before = 0;
  for (const TimePoint& point : line.points) {
    const uint64_t now = std::max(before, in_nanoseconds(point.seconds));
    append_number(out, now - std::exchange(before, now));
  }
  for (const TimePoint& point : line.points) append_number(out, point.value ? 1 : 0);
  for (const TimePoint& point : line.points) append_signed(out, point.value.value_or(0));
}

}  // namespace

void check_report(const Report& report) {
  const auto columns = report.profile.types.size();
  require(columns != 0 && report.profile.shown < columns, "profile has no columns");
  require(report.edges.size() >= 2 && report.edges.front() == 0, "time has no bins");
  require(report.bins() <= Report::most_bins, "time has too many bins");
  require(std::ranges::adjacent_find(report.edges, std::greater_equal<>()) == report.edges.end(),
          "edges are out of order");
  require(report.values.size() == report.rows.size() * columns, "values are not those of its rows");
  const auto is_bin = [&](uint32_t born, uint32_t freed) {
    return born < report.bins() &&
           (freed == ReportRow::never || (freed >= born && freed < report.bins()));
  };
  for (const ReportRow& row : report.rows)
    require(row.stack.index < report.profile.stacks.size() && is_bin(row.born, row.freed),
            "row has no stack or no bin");
  for (const ReportShape& shape : report.shapes)
    require(is_bin(shape.born, shape.freed), "blocks have no bin");
  require(report.peak < report.edges.size(), "peak is not an edge");
  for (const Report::Moment& mark : report.marks)
    require(mark.edge < report.edges.size(), "mark is not an edge");
  for (const Report::Gap& gap : report.gaps)
    require(gap.from <= gap.until && gap.until < report.edges.size(), "gap has no edges");
}

Profile profile_of_sizes(const Report& report) {
  Profile out = report.profile;
  const size_t columns = out.types.size();
  std::vector<int64_t> added(columns);
  for (const StackId stack : report.profile.touched()) {
    const std::span<const int64_t> values = report.profile.values(stack);
    std::ranges::transform(values, added.begin(), [](int64_t value) {
      unsigned_size(value);
      return -value;
    });
    out.add(stack, added);  // now it is 0
  }
  for (size_t i = 0; i < report.rows.size(); ++i) {
    std::ranges::transform(report.values_of(i), added.begin(), unsigned_size);
    out.add(report.rows[i].stack, added);
  }
  return out;
}

void set_sums(FrameTree& tree, const Report& report) {
  std::ranges::fill(tree.own, 0);
  for (size_t i = 0; i < report.rows.size(); ++i) {
    const std::span<const int64_t> values = report.values_of(i);
    const size_t first = tree.of_stack[report.rows[i].stack.index] * tree.columns;
    for (size_t column = 0; column < tree.columns; ++column)
      if (!add_to(tree.own[first + column], values[column], report.profile.types[column].unit))
        sums_too_large();
  }
}

std::string report_block(const Report& report, std::span<const uint32_t> node_of_stack) {
  std::string out;
  append_number(out, report.edges.size());
  uint64_t before = 0;
  for (const uint64_t edge : report.edges) append_number(out, edge - std::exchange(before, edge));
  append_rows(out, rows_of_nodes(report, node_of_stack), report.profile.types.size());
  append_shapes(out, report.shapes);
  append_number(out, report.lines.gauges.size() + report.lines.totals.size());
  for (const TimeLine& line : report.lines.gauges) append_points(out, line);
  for (const TimeLine& line : report.lines.totals) append_points(out, line);
  return out;
}

}  // namespace memflame
