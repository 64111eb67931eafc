#include <algorithm>
#include <cmath>

#include "render/clean_text.h"
#include "render/output.h"
#include "render/stack_rows.h"

namespace memflame {
namespace {

std::string two_decimals(double number) { return number_text(std::round(number * 100) / 100); }

// One standard error of the shown value of each frame of a row, callees included. Rows that have
// their first frames in common follow each other, so that one look ahead finds all of a frame's.
class FrameErrors {
 public:
  FrameErrors(const Profile& profile, const std::vector<StackRow>& rows)
      : profile_(profile), rows_(rows), variance_(profile.types[profile.shown].variance) {}

  // Those of the first row, then of the second, and so on.
  const std::vector<double>& next() {
    const std::string& path = rows_[at_].path;
    const size_t depth = static_cast<size_t>(std::count(path.begin(), path.end(), '\n')) + 1;
    const size_t known = at_ == 0 ? 0 : common_frames(rows_[at_ - 1].path, path);
    errors_.resize(depth);
    std::vector<int64_t> sums(profile_.types.size(), 0);
    size_t row = at_;
    for (size_t frames = depth; variance_ != no_column && frames > known; --frames) {
      for (; row < rows_.size() && common_frames(path, rows_[row].path) >= frames; ++row)
        static_cast<void>(add_to(sums[variance_], rows_[row].values[variance_], Unit::variance));
      errors_[frames - 1] = profile_.standard_error(profile_.shown, sums);
    }
    ++at_;
    return errors_;
  }

 private:
  static size_t common_frames(std::string_view a, std::string_view b) {
    const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    const auto frames = static_cast<size_t>(std::count(a.begin(), left, '\n'));
    const bool ends_here =
        (left == a.end() || *left == '\n') && (right == b.end() || *right == '\n');
    return frames + (ends_here ? 1 : 0);
  }

  const Profile& profile_;
  const std::vector<StackRow>& rows_;
  const size_t variance_;
  size_t at_ = 0;
  std::vector<double> errors_;
};

// Streams the document: a profile may be larger than what is left of the memory.
class JsonWriter {
 public:
  JsonWriter(std::ostream& out, const Profile& profile) : out_(out), profile_(profile) {
    for (size_t i = 0; i < profile.types.size(); ++i)
      if (profile.types[i].unit != Unit::variance) columns_.push_back(i);
  }

  void run(const RenderOptions& options) {
    const CleanStrings clean = clean_strings(profile_);
    replaced_ = clean.replaced;
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
    write_stacks(clean);
    array("reconciliation", meta.reconciliation, [&](const Reconciliation& row) {
      out_ << "{\"name\":" << quoted(row.name) << ",\"captured\":" << row.captured
           << ",\"os\":" << row.os << "}";
    });
    array("notes", meta.notes, [&](const std::string& note) { out_ << quoted(note); });
    write_losses();  // last, when all texts have been cleaned
    out_ << "}\n";
  }

 private:
  std::string quoted(std::string_view text) {
    std::string out = "\"";
    append_json(out, clean_text(text, replaced_));
    return out + "\"";
  }

  void field(std::string_view key, std::string_view text) {
    out_ << ",\n\"" << key << "\":" << quoted(text);
  }

  template <class Items, class Write>
  void array(std::string_view key, const Items& items, const Write& write) {
    out_ << ",\n\"" << key << "\":[";
    const char* separator = "";
    for (const auto& item : items) {
      out_ << separator;
      separator = ",\n";
      write(item);
    }
    out_ << "]";
  }

  // No name holds a control character, so one can stand between them: paths are then in the order
  // of their frames, and what remains to do is to replace it by quotes and a comma.
  void write_stacks(const CleanStrings& clean) {
    std::vector<std::string> names(profile_.frames.size());
    for (uint32_t i = 1; i < names.size(); ++i)
      append_json(names[i], clean[profile_.frames[FrameId{i}].function]);
    const std::vector<StackRow> rows = stack_rows(profile_, names, '\n');
    FrameErrors errors(profile_, rows);
    array("stacks", rows, [&](const StackRow& row) {
      out_ << "{\"frames\":[\"";
      for (const char c : row.path)
        if (c == '\n')
          out_ << "\",\"";
        else
          out_ << c;
      out_ << "\"],\"values\":[";
      list(columns_, [&](size_t i) { out_ << row.values[i]; });
      out_ << "]";
      if (is_estimated_) write_errors(row, errors.next());
      out_ << "}";
    });
  }

  // Of the row's own values, and of the shown value of each of its frames with its callees.
  void write_errors(const StackRow& row, const std::vector<double>& of_frames) {
    out_ << ",\"self_error\":[";
    list(columns_, [&](size_t i) { out_ << two_decimals(profile_.standard_error(i, row.values)); });
    out_ << "],\"error\":[";
    list(of_frames, [&](double error) { out_ << two_decimals(error); });
    out_ << "]";
  }

  template <class Items, class Write>
  void list(const Items& items, const Write& write) {
    const char* separator = "";
    for (const auto& item : items) {
      out_ << separator;
      separator = ",";
      write(item);
    }
  }

  void write_losses() {
    Losses losses = profile_.losses;
    losses.add(Loss::replaced_bytes, replaced_);
    out_ << ",\n\"losses\":{";
    for (size_t i = 0; i < loss_info.size(); ++i) {
      const LossCount& count = losses[static_cast<Loss>(i)];
      out_ << (i == 0 ? "" : ",\n") << quoted(loss_info[i].name) << ":{\"events\":" << count.events
           << ",\"bytes\":" << count.bytes << "}";
    }
    out_ << "}";
  }

  std::ostream& out_;
  const Profile& profile_;
  const bool is_estimated_ =
      std::any_of(profile_.types.begin(), profile_.types.end(),
                  [](const ValueType& type) { return type.variance != no_column; });
  std::vector<size_t> columns_;  // those that are values
  uint64_t replaced_ = 0;
};

}  // namespace

void write_json(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  JsonWriter(out, profile).run(options);
}

}  // namespace memflame
