// SPDX-License-Identifier: BSD-2-Clause
// A speedscope document as the file holds it.
#pragma once

#include <string>
#include <vector>

#include "collapse/source/source.h"
#include "collapse/text/json_number.h"
#include "core/stack.h"

namespace memflame {

struct SpeedscopeFrame {
  std::string name, file;
  uint32_t line = 0;
  // memflame's own:
  std::string module, kind;
};

struct SpeedscopeEvent {
  uint32_t frame = 0;
  bool opens = false;
  JsonNumber at;
};

struct SpeedscopeProfile {
  std::string type, name, unit;
  JsonNumber end;
  // Stacks whose FrameId is the index in the document's frames, plus 1.
  StackTable stacks;
  std::vector<StackId> samples;
  std::vector<JsonNumber> weights;
  std::vector<SpeedscopeEvent> events;
  size_t unknown_events = 0;
  // memflame's own: each profile is a column in that unit.
  std::string column_unit;
  uint8_t column_decimals = 0;
};

struct Speedscope {
  // For a frame whose number is not valid.
  static constexpr uint32_t no_frame = INT32_MAX - 1;

  std::string name, exporter;
  JsonNumber active;
  std::vector<SpeedscopeFrame> frames;
  std::vector<SpeedscopeProfile> profiles;
  std::vector<std::string> comments;  // memflame's own
};

// Throws Error if the text is not valid JSON.
Speedscope read_speedscope_document(Source& source);

}  // namespace memflame
