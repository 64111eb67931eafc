// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/profilers/speedscope_document.h"

#include <algorithm>
#include <array>

#include "collapse/text/json_walk.h"

namespace memflame {
namespace {

enum Place : uint8_t {
  at_other,
  at_top,
  at_shared,
  at_frames,
  at_frame,
  at_profiles,
  at_profile,
  at_own,  // memflame's, of a profile
  at_samples,
  at_sample,
  at_weights,
  at_events,
  at_event,
  at_comments,
};

constexpr std::array speedscope_steps{
    JsonStep{at_top, "shared", at_shared},       JsonStep{at_shared, "frames", at_frames},
    JsonStep{at_frames, "", at_frame},           JsonStep{at_top, "profiles", at_profiles},
    JsonStep{at_profiles, "", at_profile},       JsonStep{at_profile, "memflame", at_own},
    JsonStep{at_profile, "samples", at_samples}, JsonStep{at_samples, "", at_sample},
    JsonStep{at_profile, "weights", at_weights}, JsonStep{at_profile, "events", at_events},
    JsonStep{at_events, "", at_event},           JsonStep{at_top, "memflame", at_comments},
};

class DocumentReader : public JsonVisitor {
 public:
  explicit DocumentReader(Speedscope& document) : document_(document) {}

  void begin(uint8_t place, std::string_view) override {
    if (place == at_frame) document_.frames.emplace_back();
    if (place == at_profile) document_.profiles.emplace_back();
    if (place == at_sample) stack_ = {};
    if (place == at_event) in_event_ = {}, in_event_type_.clear();
  }

  void end(uint8_t place) override {
    if (place == at_sample) now().samples.push_back(stack_);
    if (place != at_event) return;
    if (in_event_type_ == "O" || in_event_type_ == "C") {
      in_event_.opens = in_event_type_ == "O";
      now().events.push_back(in_event_);
    } else {
      ++now().unknown_events;
    }
  }

  void text(uint8_t place, std::string_view key, std::string& text) override {
    std::string* into = nullptr;
    if (place == at_top)
      into = key == "name" ? &document_.name : key == "exporter" ? &document_.exporter : nullptr;
    if (place == at_frame) into = of_frame(document_.frames.back(), key);
    if (place == at_profile) into = of_profile(now(), key);
    if (place == at_own && key == "unit") into = &now().column_unit;
    if (place == at_event && key == "type") into = &in_event_type_;
    if (place == at_comments) into = &document_.comments.emplace_back();
    if (into != nullptr) *into = std::move(text);
  }

  void number(uint8_t place, std::string_view key, const JsonNumber& number) override {
    if (place == at_sample) stack_ = now().stacks.push(stack_, FrameId{index(number) + 1});
    if (place == at_weights) now().weights.push_back(number);
    if (place == at_event && key == "at") in_event_.at = number;
    if (place == at_event && key == "frame") in_event_.frame = index(number);
    if (place == at_profile && key == "endValue") now().end = number;
    if (place == at_top && key == "activeProfileIndex") document_.active = number;
    if (place == at_own && key == "decimals")
      now().column_decimals = static_cast<uint8_t>(std::min<uint32_t>(index(number), 9));
    if (place == at_frame && key == "line")
      if (const uint32_t line = index(number); line != Speedscope::no_frame)
        document_.frames.back().line = line;
  }

  // Keeps weights aligned with their samples.
  void nothing(uint8_t place, std::string_view) override {
    if (place == at_weights) now().weights.emplace_back();
  }

 private:
  // The profile being read: it encloses every place that asks for it.
  SpeedscopeProfile& now() { return document_.profiles.back(); }

  static std::string* of_frame(SpeedscopeFrame& at_frame, std::string_view key) {
    if (key == "name") return &at_frame.name;
    if (key == "file") return &at_frame.file;
    if (key == "module") return &at_frame.module;
    return key == "kind" ? &at_frame.kind : nullptr;
  }

  static std::string* of_profile(SpeedscopeProfile& at_profile, std::string_view key) {
    if (key == "type") return &at_profile.type;
    if (key == "name") return &at_profile.name;
    return key == "unit" ? &at_profile.unit : nullptr;
  }

  static uint32_t index(const JsonNumber& number) {
    int64_t value = 0;
    bool rounded = false;
    const bool good =
        number.scaled(0, value, rounded) && !rounded && value >= 0 && value < Speedscope::no_frame;
    return good ? static_cast<uint32_t>(value) : Speedscope::no_frame;
  }

  Speedscope& document_;
  StackId stack_;
  SpeedscopeEvent in_event_;
  std::string in_event_type_;
};

}  // namespace

Speedscope read_speedscope_document(Source& source) {
  Speedscope document;
  DocumentReader visitor(document);
  walk_json(source, speedscope_steps, visitor);
  return document;
}

}  // namespace memflame
