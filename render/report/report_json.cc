// SPDX-License-Identifier: BSD-2-Clause
#include "render/report/report_json.h"

#include "render/text/profile_json.h"

namespace memflame {
namespace {

class ReportJsonWriter : private ProfileJson {
 public:
  ReportJsonWriter(std::ostream& out, const Report& report)
      : ProfileJson(out, report.profile), report_(report) {}

  void run() {
    const Meta& meta = profile_.meta;
    out_ << R"({"format":"memflame-report","version":1)";
    field("kind", report_.kind == Report::Kind::blocks ? "blocks" : "changes");
    field("file", report_.file);
    field("title", meta.title);
    field("command", meta.command);
    field("host", meta.host);
    out_ << ",\n\"seconds\":" << number_text(meta.seconds);
    field("sampling", meta.sampling);
    write_types();
    write_axis();
    write_places();
    write_stacks();
    write_rows();
    write_shapes();
    array("sums", report_.sums, [&](const ReportSum& sum) {
      out_ << "{\"name\":" << quoted(sum.name) << ",\"bytes\":" << sum.bytes
           << ",\"level\":" << int{sum.level} << ",\"note\":" << quoted(sum.note) << "}";
    });
    array("gauges", report_.lines.gauges, [&](const TimeLine& line) { write_line(line); });
    array("totals", report_.lines.totals, [&](const TimeLine& line) { write_line(line); });
    array("notes", meta.notes, [&](const std::string& note) { out_ << quoted(note); });
    write_losses();
    out_ << "}\n";
  }

 private:
  void write_types() {
    array("value_types", profile_.types, [&](const ValueType& type) {
      const bool is_variance = type.unit == Unit::variance;
      out_ << "{\"name\":" << quoted(type.name)
           << ",\"unit\":" << quoted(is_variance ? "variance" : name(type.unit));
      if (type.decimals != 0) out_ << ",\"decimals\":" << int{type.decimals};
      if (type.variance != no_column)
        out_ << ",\"variance\":" << type.variance
             << ",\"variance_unit\":" << number_text(type.variance_unit);
      out_ << "}";
    });
    out_ << ",\n\"shown\":" << profile_.shown;
  }

  void write_axis() {
    out_ << ",\n\"edges\":";
    list(report_.edges, [&](uint64_t edge) { out_ << edge; });
    out_ << ",\n\"peak\":" << report_.peak;
    array("marks", report_.marks, [&](const Report::Moment& mark) {
      out_ << "{\"edge\":" << mark.edge << ",\"name\":" << quoted(mark.name) << "}";
    });
    array("gaps", report_.gaps, [&](const Report::Gap& gap) {
      out_ << "{\"from\":" << gap.from << ",\"until\":" << gap.until << ",\"events\":" << gap.events
           << "}";
    });
  }

  // Stacks with rows; these say which one they belong to by its place in the list.
  void write_stacks() {
    out_ << ",\n\"stacks\":[";
    const char* separator = "";
    StackId before;
    for (const ReportRow& row : report_.rows) {
      if (row.stack == before) continue;
      before = row.stack;
      out_ << separator << "{\"frames\":";
      separator = ",\n";
      const std::vector<FrameId> path = profile_.path(row.stack);
      list(path, [&](FrameId frame) { out_ << quoted(profile_.frames[frame].function); });
      out_ << ",\"places\":";
      list(path, [&](FrameId frame) { out_ << places_.of_frame[frame.index]; });
      write_verdict(row.stack);
      out_ << "}";
    }
    out_ << "]";
  }

  void write_verdict(StackId stack) {
    for (const StackMark& mark : profile_.marks)
      if (mark.stack == stack)
        out_ << ",\"verdict\":{\"kind\":" << quoted(name(mark.kind))
             << ",\"text\":" << quoted(mark.sentence) << "}";
  }

  void write_bin(uint32_t bin) {
    if (bin == ReportRow::never)
      out_ << "null";
    else
      out_ << bin;
  }

  void write_rows() {
    out_ << ",\n\"rows\":[";
    const char* separator = "";
    size_t stacks = 0;
    for (size_t i = 0; i < report_.rows.size(); ++i) {
      const ReportRow& row = report_.rows[i];
      if (i == 0 || report_.rows[i - 1].stack != row.stack) ++stacks;
      out_ << separator << "[" << stacks - 1 << "," << row.born << ",";
      separator = ",\n";
      write_bin(row.freed);
      for (const int64_t value : report_.values_of(i)) out_ << "," << value;
      out_ << "]";
    }
    out_ << "]";
  }

  void write_shapes() {
    array("shapes", report_.shapes, [&](const ReportShape& shape) {
      out_ << "[" << int{shape.lifetime} << "," << int{shape.size} << "," << shape.born << ",";
      write_bin(shape.freed);
      out_ << "," << shape.bytes << "," << shape.blocks << "]";
    });
  }

  void write_line(const TimeLine& line) {
    out_ << "{\"name\":" << quoted(line.name) << ",\"unit\":" << quoted(name(line.type.unit));
    if (line.type.decimals != 0) out_ << ",\"decimals\":" << int{line.type.decimals};
    out_ << ",\"points\":";
    list(line.points, [&](const TimePoint& point) {
      out_ << "[" << number_text(point.seconds) << ","
           << (point.value ? std::to_string(*point.value) : "null") << "]";
    });
    out_ << "}";
  }

  const Report& report_;
};

}  // namespace

void write_report_json(std::ostream& out, const Report& report) {
  ReportJsonWriter(out, report).run();
}

}  // namespace memflame
