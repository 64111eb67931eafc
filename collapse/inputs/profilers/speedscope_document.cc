// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/profilers/speedscope_document.h"

#include <algorithm>
#include <array>

#include "collapse/json_walk.h"

namespace memflame {
namespace {

enum Place : uint8_t {
  other,
  top,
  shared,
  frames,
  frame,
  profiles,
  profile,
  own,  // memflame's, of a profile
  samples,
  sample,
  weights,
  events,
  event,
  comments,
};

constexpr std::array steps{
    JsonStep{top, "shared", shared},       JsonStep{shared, "frames", frames},
    JsonStep{frames, "", frame},           JsonStep{top, "profiles", profiles},
    JsonStep{profiles, "", profile},       JsonStep{profile, "memflame", own},
    JsonStep{profile, "samples", samples}, JsonStep{samples, "", sample},
    JsonStep{profile, "weights", weights}, JsonStep{profile, "events", events},
    JsonStep{events, "", event},           JsonStep{top, "memflame", comments},
};

class Visitor : public JsonVisitor {
 public:
  explicit Visitor(Speedscope& document) : document_(document) {}

  void begin(uint8_t place, std::string_view) override {
    if (place == frame) document_.frames.emplace_back();
    if (place == profile) document_.profiles.emplace_back();
    if (place == sample) stack_ = {};
    if (place == event) event_ = {}, event_type_.clear();
  }

  void end(uint8_t place) override {
    if (place == sample) now().samples.push_back(stack_);
    if (place != event) return;
    if (event_type_ == "O" || event_type_ == "C") {
      event_.opens = event_type_ == "O";
      now().events.push_back(event_);
    } else {
      ++now().unknown_events;
    }
  }

  void text(uint8_t place, std::string_view key, std::string& text) override {
    std::string* into = nullptr;
    if (place == top)
      into = key == "name" ? &document_.name : key == "exporter" ? &document_.exporter : nullptr;
    if (place == frame) into = of_frame(document_.frames.back(), key);
    if (place == profile) into = of_profile(now(), key);
    if (place == own && key == "unit") into = &now().column_unit;
    if (place == event && key == "type") into = &event_type_;
    if (place == comments) into = &document_.comments.emplace_back();
    if (into != nullptr) *into = std::move(text);
  }

  void number(uint8_t place, std::string_view key, const JsonNumber& number) override {
    if (place == sample) stack_ = now().stacks.push(stack_, FrameId{index(number) + 1});
    if (place == weights) now().weights.push_back(number);
    if (place == event && key == "at") event_.at = number;
    if (place == event && key == "frame") event_.frame = index(number);
    if (place == profile && key == "endValue") now().end = number;
    if (place == top && key == "activeProfileIndex") document_.active = number;
    if (place == own && key == "decimals")
      now().column_decimals = static_cast<uint8_t>(std::min<uint32_t>(index(number), 9));
    if (place == frame && key == "line")
      if (const uint32_t line = index(number); line != Speedscope::no_frame)
        document_.frames.back().line = line;
  }

  // Keeps weights aligned with their samples.
  void nothing(uint8_t place, std::string_view) override {
    if (place == weights) now().weights.emplace_back();
  }

 private:
  // The profile being read: it encloses every place that asks for it.
  SpeedscopeProfile& now() { return document_.profiles.back(); }

  static std::string* of_frame(SpeedscopeFrame& frame, std::string_view key) {
    if (key == "name") return &frame.name;
    if (key == "file") return &frame.file;
    if (key == "module") return &frame.module;
    return key == "kind" ? &frame.kind : nullptr;
  }

  static std::string* of_profile(SpeedscopeProfile& profile, std::string_view key) {
    if (key == "type") return &profile.type;
    if (key == "name") return &profile.name;
    return key == "unit" ? &profile.unit : nullptr;
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
  SpeedscopeEvent event_;
  std::string event_type_;
};

}  // namespace

Speedscope read_speedscope_document(Source& source) {
  Speedscope document;
  Visitor visitor(document);
  walk_json(source, steps, visitor);
  return document;
}

}  // namespace memflame
