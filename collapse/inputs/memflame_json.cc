#include <algorithm>
#include <array>
#include <cmath>

#include "collapse/input.h"
#include "collapse/inputs/marked_names.h"
#include "collapse/issues.h"
#include "collapse/json_walk.h"
#include "core/error.h"
#include "core/kind_names.h"

namespace memflame {
namespace {

enum Place : uint8_t {
  other,
  top,
  value_types,
  value_type,
  place_list,
  place_row,
  stacks,
  stack,
  frames,
  frame_places,
  values,
  errors,
  reconciliation,
  check,
  notes,
  losses,
  loss,
};

constexpr std::array steps{
    JsonStep{top, "value_types", value_types},
    JsonStep{value_types, "", value_type},
    JsonStep{top, "places", place_list},
    JsonStep{place_list, "", place_row},
    JsonStep{top, "stacks", stacks},
    JsonStep{stacks, "", stack},
    JsonStep{stack, "places", frame_places},
    JsonStep{stack, "frames", frames},
    JsonStep{stack, "values", values},
    JsonStep{stack, "self_error", errors},
    JsonStep{top, "reconciliation", reconciliation},
    JsonStep{reconciliation, "", check},
    JsonStep{top, "notes", notes},
    JsonStep{top, "losses", losses},
    JsonStep{losses, "*", loss},
};

// Errors have two decimals, so that variances are whole in hundredths, squared.
constexpr int error_decimals = 2;
constexpr double variance_unit = 1e-4;

class Visitor : public JsonVisitor {
 public:
  Visitor(Source& source, bool lines) : source_(source), lines_(lines) {}

  Profile finish() {
    if (format_ != "memflame-profile") source_.fail("it is no profile of memflame's");
    if (columns_ == 0) source_.fail("it does not say what its values are");
    if (shown_ < columns_) profile_.shown = shown_;
    issues_.finish(profile_);
    return std::move(profile_);
  }

  void begin(uint8_t place, std::string_view key) override {
    if (place == value_type) type_ = {};
    if (place == place_row) places_.emplace_back();
    if (place == stack) begin_stack();
    if (place == check) profile_.meta.reconciliation.emplace_back();
    if (place == loss) {
      loss_name_ = key;
      loss_ = {};
    }
  }

  void end(uint8_t place) override {
    if (place == value_type) {
      if (!profile_.touched().empty() || profile_.types.size() == max_columns)
        source_.fail("its value_types come too late, or are too many");
      profile_.types.push_back(type_);
      columns_ = profile_.types.size();
    }
    if (place == stack) add_stack();
    for (size_t i = 0; place == loss && i < loss_info.size(); ++i)
      if (loss_info[i].name == loss_name_)
        profile_.losses.add(static_cast<Loss>(i), loss_.events, loss_.bytes);
  }

  void text(uint8_t place, std::string_view key, std::string& text) override {
    Meta& meta = profile_.meta;
    if (place == top) {
      if (key == "format") format_ = text;
      if (key == "title") meta.title = text;
      if (key == "command") meta.command = text;
      if (key == "host") meta.host = text;
      if (key == "sampling") meta.sampling = text;
    }
    if (place == value_type && key == "name") type_.name = text;
    if (place == value_type && key == "unit" && !parse_unit(text, type_.unit))
      issues_.add("an unknown unit", 0, text);
    if (place == frames) frames_.push_back(text);
    if (place == place_row) place_text(key, text);
    if (place == notes) meta.notes.push_back(text);
    if (place == check && key == "name") meta.reconciliation.back().name = text;
  }

  void number(uint8_t place, std::string_view key, const JsonNumber& number) override {
    if (place == values) values_.push_back(whole(number));
    if (place == frame_places) frame_places_.push_back(whole(number));
    if (place == place_row && key == "line" && lines_)
      places_.back().line =
          static_cast<uint32_t>(std::clamp<int64_t>(whole(number), 0, UINT32_MAX));
    if (place == errors) errors_.push_back(whole(number, error_decimals));
    if (place == value_type && key == "decimals")
      type_.decimals = static_cast<uint8_t>(std::clamp<int64_t>(whole(number), 0, 18));
    if (place == top && key == "shown") shown_ = static_cast<size_t>(whole(number));
    if (place == top && key == "seconds") profile_.meta.seconds = real(number);
    if (place == loss && key == "bytes") loss_.bytes = whole(number);
    if (place == loss && key == "events") loss_.events = events(number);
    if (place == check && key == "captured")
      profile_.meta.reconciliation.back().captured = whole(number);
    if (place == check && key == "os") profile_.meta.reconciliation.back().os = whole(number);
  }

 private:
  int64_t whole(const JsonNumber& number, int decimals = 0) {
    int64_t value = 0;
    bool rounded = false;
    if (!number.scaled(decimals, value, rounded))
      source_.fail("a number leaves the range of 64 bits");
    return value;
  }

  static double real(const JsonNumber& number) {
    const auto digits = static_cast<double>(number.digits);
    return number.exponent < 0 ? digits / std::pow(10.0, -number.exponent)
                               : digits * std::pow(10.0, number.exponent);
  }

  // There may be one more bit of them.
  static uint64_t events(const JsonNumber& number) {
    int64_t value = 0;
    bool rounded = false;
    if (!number.scaled(0, value, rounded)) return UINT64_MAX;
    return static_cast<uint64_t>(std::max<int64_t>(value, 0));
  }

  void place_text(std::string_view key, std::string_view text) {
    Frame& place = places_.back();
    if (key == "kind" && !parse_kind(text, place.kind)) issues_.add("an unknown kind", 0, text);
    if (key == "module") place.module = profile_.strings.intern(text);
    if (key == "file" && lines_) place.file = profile_.strings.intern(text);
  }

  void begin_stack() {
    frames_.clear();
    frame_places_.clear();
    values_.clear();
    errors_.clear();
  }

  // Without places a name's brackets say what it is, as in folded text.
  Frame frame_of(size_t index) {
    Frame frame;
    if (frame_places_.empty()) {
      frame.kind = bracketed_kind(frames_[index]);
    } else {
      const int64_t number = index < frame_places_.size() ? frame_places_[index] : -1;
      if (number > 0 && static_cast<uint64_t>(number) <= places_.size())
        frame = places_[static_cast<size_t>(number - 1)];
      else if (number != 0)
        issues_.add("a place that is not in the list", 0, frames_[index]);
    }
    frame.function = profile_.strings.intern(frames_[index]);
    return frame;
  }

  StackId pushed_stack() {
    StackId top;
    for (size_t i = 0; i < frames_.size(); ++i)
      top = profile_.stacks.push(top, profile_.frames.intern(frame_of(i)));
    return top ? top : profile_.push({}, "[no stack]", FrameKind::note);
  }

  void add_stack() {
    if (columns_ == 0) source_.fail("its stacks come before its value_types");
    if (values_.size() != columns_) {
      issues_.add("a stack with another number of values than there are value_types", 0,
                  std::to_string(values_.size()));
      return;
    }
    try {
      add_variances();
      profile_.add(pushed_stack(), values_);
    } catch (const Error& error) {
      source_.fail(error.what());
    }
  }

  // A column of variances for each that has an error somewhere, behind the columns of values.
  void add_variances() {
    errors_.resize(columns_, 0);
    for (size_t i = 0; i < columns_; ++i) {
      ValueType& type = profile_.types[i];
      if (errors_[i] == 0 || type.variance != no_column) continue;
      type.variance = profile_.types.size();
      type.variance_unit = variance_unit;
      profile_.add_column({profile_.types[i].name + " variance", Unit::variance});
    }
    values_.resize(profile_.types.size(), 0);
    for (size_t i = 0; i < columns_; ++i) {
      const size_t variance = profile_.types[i].variance;
      if (variance != no_column &&
          __builtin_mul_overflow(errors_[i], errors_[i], &values_[variance]))
        values_[variance] = INT64_MAX;
    }
  }

  Source& source_;
  const bool lines_;
  Profile profile_;
  Issues issues_;
  std::string format_, loss_name_;
  LossCount loss_;
  size_t columns_ = 0;  // of values
  size_t shown_ = 0;
  ValueType type_;
  std::vector<Frame> places_;  // without functions
  std::vector<std::string> frames_;
  std::vector<int64_t> frame_places_, values_, errors_;
};

}  // namespace

bool is_memflame_json(std::string_view head) {
  for (const std::string_view part : {"{", "\"format\"", ":", "\"memflame-profile\""}) {
    head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
    if (!head.starts_with(part)) return false;
    head.remove_prefix(part.size());
  }
  return true;
}

Profile read_memflame_json(Source& source, const ReadOptions& options) {
  Visitor visitor(source, options.lines);
  walk_json(source, steps, visitor);
  return visitor.finish();
}

}  // namespace memflame
