// SPDX-License-Identifier: BSD-2-Clause
// memflame's own JSON (render/outputs/json.cc), read as a stream: one stack at a time, with its
// frames and the places they refer to, its values and their errors. Errors become columns of
// variances.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "collapse/inputs/folded/marked_names.h"
#include "collapse/inputs/memflame/memflame_facts.h"
#include "collapse/inputs/readers.h"
#include "core/error.h"
#include "core/kind_names.h"

namespace memflame {
namespace {

enum JsonPlace : uint8_t {
  place_list = MemflameFacts::first_free,
  place_row,
  in_stacks,
  in_stack,
  in_frames,
  in_frame_places,
  in_values,
  in_errors,
  in_verdict,
};

constexpr std::array json_steps{
    JsonStep{MemflameFacts::document, "value_types", MemflameFacts::value_types},
    JsonStep{MemflameFacts::value_types, "", MemflameFacts::value_type},
    JsonStep{MemflameFacts::document, "places", place_list},
    JsonStep{place_list, "", place_row},
    JsonStep{MemflameFacts::document, "stacks", in_stacks},
    JsonStep{in_stacks, "", in_stack},
    JsonStep{in_stack, "places", in_frame_places},
    JsonStep{in_stack, "frames", in_frames},
    JsonStep{in_stack, "values", in_values},
    JsonStep{in_stack, "self_error", in_errors},
    JsonStep{in_stack, "verdict", in_verdict},
    JsonStep{MemflameFacts::document, "reconciliation", MemflameFacts::reconciliation},
    JsonStep{MemflameFacts::reconciliation, "", MemflameFacts::check},
    JsonStep{MemflameFacts::document, "notes", MemflameFacts::notes},
    JsonStep{MemflameFacts::document, "losses", MemflameFacts::losses},
    JsonStep{MemflameFacts::losses, "*", MemflameFacts::loss},
};

// Errors have two decimals, so variances are whole numbers in units of 0.01 squared.
constexpr int error_decimals = 2;
constexpr double variance_step = 1e-4;

struct RankedMark {
  int64_t rank = 0;
  StackMark mark;
};

class JsonReader : public MemflameFacts {
 public:
  JsonReader(Source& source, bool lines) : MemflameFacts(source), lines_(lines) {}

  Profile finish() {
    if (format_ != "memflame-profile") source_.fail("it is not a profile of memflame's");
    if (columns_ == 0) source_.fail("it does not say what its values are");
    if (shown_ < columns_) profile_.shown = shown_;
    std::stable_sort(verdicts_.begin(), verdicts_.end(),
                     [](const RankedMark& a, const RankedMark& b) { return a.rank < b.rank; });
    for (RankedMark& one : verdicts_) profile_.marks.push_back(std::move(one.mark));
    issues_.finish(profile_);
    return std::move(profile_);
  }

  void begin(uint8_t place, std::string_view key) override {
    MemflameFacts::begin(place, key);
    if (place == place_row) places_.emplace_back();
    if (place == in_stack) begin_stack();
    if (place == in_verdict) verdict_.emplace();
  }

  void end(uint8_t place) override {
    MemflameFacts::end(place);
    if (place == value_type) {
      profile_.types.back().variance = no_column;  // errors come with the stacks instead
      columns_ = profile_.types.size();
    }
    if (place == in_stack) add_stack();
  }

  void text(uint8_t place, std::string_view key, std::string& text) override {
    MemflameFacts::text(place, key, text);
    if (place == document && key == "format") format_ = text;
    if (place == in_frames) frames_.push_back(text);
    if (place == place_row) place_text(key, text);
    if (place == in_verdict) verdict_text(key, text);
  }

  void number(uint8_t place, std::string_view key, const JsonNumber& number) override {
    MemflameFacts::number(place, key, number);
    if (place == in_values) values_.push_back(whole(number));
    if (place == in_frame_places) frame_places_.push_back(whole(number));
    if (place == place_row && key == "line" && lines_)
      places_.back().line =
          static_cast<uint32_t>(std::clamp<int64_t>(whole(number), 0, UINT32_MAX));
    if (place == in_verdict) verdict_number(key, number);
    if (place == in_errors) errors_.push_back(whole(number, error_decimals));
    if (place == document && key == "shown") shown_ = static_cast<size_t>(whole(number));
  }

 private:
  void place_text(std::string_view key, std::string_view text) {
    Frame& place = places_.back();
    if (key == "kind" && !parse_kind(text, place.kind)) issues_.add("an unknown kind", 0, text);
    if (key == "module") place.module = profile_.strings.intern(text);
    if (key == "file" && lines_) place.file = profile_.strings.intern(text);
  }

  void verdict_text(std::string_view key, std::string_view text) {
    StackMark& mark = verdict_->mark;
    if (key == "kind" && !parse_verdict(text, mark.kind))
      issues_.add("an unknown verdict", 0, text);
    if (key == "text") mark.sentence = text;
    if (key == "label") mark.label = text;
  }

  void verdict_number(std::string_view key, const JsonNumber& number) {
    if (key == "rank") verdict_->rank = whole(number);
    if (key == "marked") verdict_->mark.is_drawn = whole(number) != 0;
    if (key == "bytes_per_second")
      verdict_->mark.bytes_per_second = static_cast<double>(whole(number));
  }

  void begin_stack() {
    verdict_.reset();
    frames_.clear();
    frame_places_.clear();
    values_.clear();
    errors_.clear();
  }

  // Without places the brackets of a name tell its kind, as in folded text.
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
      const StackId stack = pushed_stack();
      profile_.add(stack, values_);
      if (!verdict_ || verdicts_.size() >= max_marks) return;
      verdict_->mark.stack = stack;
      verdicts_.push_back(std::move(*verdict_));
    } catch (const Error& error) {
      source_.fail(error.what());
    }
  }

  // Adds a column of variances for each column with an error, after the columns of values.
  void add_variances() {
    errors_.resize(columns_, 0);
    for (size_t i = 0; i < columns_; ++i) {
      ValueType& type = profile_.types[i];
      if (errors_[i] == 0 || type.variance != no_column) continue;
      type.variance = profile_.types.size();
      type.variance_unit = variance_step;
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

  const bool lines_;
  std::string format_;
  size_t columns_ = 0;  // of values
  size_t shown_ = 0;
  std::vector<Frame> places_;  // without functions
  std::vector<std::string> frames_;
  std::vector<int64_t> frame_places_, values_, errors_;
  std::optional<RankedMark> verdict_;  // of the stack that is being read
  std::vector<RankedMark> verdicts_;
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
  JsonReader visitor(source, options.lines);
  walk_json(source, json_steps, visitor);
  return visitor.finish();
}

}  // namespace memflame
