// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cmath>

#include "render/order/stack_rows.h"
#include "render/output.h"
#include "render/text/profile_json.h"

namespace memflame {
namespace {

std::string two_decimals(double number) { return number_text(std::round(number * 100) / 100); }

// One standard error of the shown value of each frame of a row, callees included.
class FrameErrors {
 public:
  explicit FrameErrors(const Profile& profile)
      : profile_(profile), variance_(profile.types[profile.shown].variance) {
    if (variance_ != no_column) inclusive_ = profile.inclusive(variance_);
  }

  // The errors of the current row; to be called for every row.
  const std::vector<double>& next(const StackRows& rows) {
    errors_.resize(rows.kept());
    std::vector<int64_t> sums(profile_.types.size(), 0);
    while (errors_.size() < rows.depth()) {
      if (variance_ != no_column) {
        sums[variance_] = 0;
        for (const StackId stack : rows.stacks(errors_.size() + 1))
          static_cast<void>(add_to(sums[variance_], inclusive_[stack.index], Unit::variance));
      }
      errors_.push_back(profile_.standard_error(profile_.shown, sums));
    }
    return errors_;
  }

 private:
  const Profile& profile_;
  const size_t variance_;
  std::vector<int64_t> inclusive_;
  std::vector<double> errors_;
};

class JsonWriter : private ProfileJson {
 public:
  JsonWriter(std::ostream& out, const Profile& profile) : ProfileJson(out, profile) {
    for (size_t i = 0; i < profile.types.size(); ++i)
      if (profile.types[i].unit != Unit::variance) columns_.push_back(i);
  }

  void run(const RenderOptions& options) {
    const Meta& meta = profile_.meta;
    out_ << R"({"format":"memflame-profile","version":1)";
    field("title", options.title.empty() ? meta.title : options.title);
    field("command", meta.command);
    field("host", meta.host);
    out_ << ",\n\"seconds\":" << number_text(meta.seconds);
    out_ << ",\n\"estimated\":" << (meta.sampling.empty() ? "false" : "true");
    field("sampling", meta.sampling);
    array("value_types", columns_, [&](size_t i) {
      const ValueType& type = profile_.types[i];
      out_ << "{\"name\":" << quoted(type.name) << ",\"unit\":" << quoted(name(type.unit));
      if (type.decimals != 0) out_ << ",\"decimals\":" << int{type.decimals};
      out_ << "}";
    });
    const auto shown = std::find(columns_.begin(), columns_.end(), profile_.shown);
    out_ << ",\n\"shown\":" << shown - columns_.begin();
    write_places();
    write_stacks();
    array("reconciliation", meta.reconciliation, [&](const Reconciliation& row) {
      out_ << "{\"name\":" << quoted(row.name) << ",\"captured\":" << row.captured << ",\"os\":";
      if (row.os)
        out_ << *row.os;
      else
        out_ << "null";
      if (!row.captured_is.empty()) out_ << ",\"captured_is\":" << quoted(row.captured_is);
      out_ << "}";
    });
    array("notes", meta.notes, [&](const std::string& note) { out_ << quoted(note); });
    write_losses();
    out_ << "}\n";
  }

 private:
  // No name holds a control character, so one can stand between names, and another between a name
  // and the number of its place: paths are then in the order of their frames.
  void write_stacks() {
    std::vector<std::string> names(profile_.frames.size());
    for (uint32_t i = 1; i < names.size(); ++i) {
      append_json(names[i], clean_[profile_.frames[FrameId{i}].function]);
      if (places_.of_frame[i] != 0) names[i] += place_mark + std::to_string(places_.of_frame[i]);
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    StackRows rows(profile_, views, '\n');
    FrameErrors errors(profile_);
    out_ << ",\n\"stacks\":[";
    for (const char* separator = ""; rows.next(); separator = ",\n") {
      out_ << separator << "{\"frames\":[";
      write_frames(rows.path(), rows.depth());
      out_ << "],\"values\":";
      list(columns_, [&](size_t i) { out_ << rows.values()[i]; });
      if (is_estimated_) write_errors(rows.values(), errors.next(rows));
      if (!profile_.marks.empty()) write_verdict(rows.stacks(rows.depth()));
      out_ << "}";
    }
    out_ << "]";
  }

  // Several stacks may read the same: the worst verdict counts.
  void write_verdict(std::span<const StackId> stacks) {
    for (size_t i = 0; i < profile_.marks.size(); ++i) {
      const StackMark& mark = profile_.marks[i];
      if (std::find(stacks.begin(), stacks.end(), mark.stack) == stacks.end()) continue;
      out_ << ",\"verdict\":{\"rank\":" << i << ",\"kind\":" << quoted(name(mark.kind))
           << ",\"text\":" << quoted(mark.sentence) << ",\"label\":" << quoted(mark.label)
           << ",\"marked\":" << (mark.is_drawn ? 1 : 0);
      if (mark.bytes_per_second > 0)
        out_ << ",\"bytes_per_second\":" << number_text(std::round(mark.bytes_per_second));
      out_ << "}";
      return;
    }
  }

  void write_frames(std::string_view path, size_t depth) {
    std::string numbers;
    bool any = false;
    for (size_t i = 0; i < depth; ++i) {
      const std::string_view frame = path.substr(0, path.find('\n'));
      path.remove_prefix(std::min(path.size(), frame.size() + 1));
      const size_t mark = std::min(frame.find(place_mark), frame.size());
      any |= mark != frame.size();
      out_ << (i == 0 ? "\"" : ",\"") << frame.substr(0, mark) << '"';
      numbers += i == 0 ? "" : ",";
      numbers += mark == frame.size() ? "0" : frame.substr(mark + 1);
    }
    if (any) out_ << "],\"places\":[" << numbers;
  }

  // Errors of the row's own values, and of the shown value of each of its frames with its callees.
  void write_errors(std::span<const int64_t> values, const std::vector<double>& of_frames) {
    out_ << ",\"self_error\":";
    list(columns_, [&](size_t i) { out_ << two_decimals(profile_.standard_error(i, values)); });
    out_ << ",\"error\":";
    list(of_frames, [&](double error) { out_ << two_decimals(error); });
  }

  const bool is_estimated_ =
      std::any_of(profile_.types.begin(), profile_.types.end(),
                  [](const ValueType& type) { return type.variance != no_column; });
  static constexpr char place_mark = '\x01';
  std::vector<size_t> columns_;  // those that are values
};

}  // namespace

void write_json(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  JsonWriter(out, profile).run(options);
}

}  // namespace memflame
