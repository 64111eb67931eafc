// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/text/json_walk.h"

#include <vector>

#include "collapse/text/json_tokens.h"

namespace memflame {
namespace {

uint8_t next_place(std::span<const JsonStep> steps, uint8_t place, std::string_view key) {
  for (const JsonStep& step : steps)
    if (step.from == place && (step.key == key || step.key == "*")) return step.to;
  return 0;
}

}  // namespace

void walk_json(Source& source, std::span<const JsonStep> steps, JsonVisitor& visitor) {
  JsonTokens tokens(source);
  std::vector<uint8_t> places;  // of the open objects and arrays
  std::string key, text;
  JsonNumber number;
  while (true) {
    const JsonTokens::Kind kind = tokens.next();
    const uint8_t place = places.empty() ? uint8_t{0} : places.back();
    switch (kind) {
      case JsonTokens::Kind::begin_object:
      case JsonTokens::Kind::begin_array: {
        const uint8_t inside = places.empty() ? uint8_t{1} : next_place(steps, place, key);
        // A skipped value may be long: its keys are not looked up.
        if (inside == 0) {
          tokens.skip();
        } else {
          places.push_back(inside);
          visitor.begin(inside, key);
        }
        break;
      }
      case JsonTokens::Kind::end_object:
      case JsonTokens::Kind::end_array:
        visitor.end(place);
        places.pop_back();
        break;
      case JsonTokens::Kind::key:
        key = tokens.text();
        continue;
      case JsonTokens::Kind::string:
        text = tokens.text();
        if (place != 0) visitor.text(place, key, text);
        break;
      case JsonTokens::Kind::number:
        static_cast<void>(parse_json_number(tokens.text(), number));  // JsonTokens checked it
        if (place != 0) visitor.number(place, key, number);
        break;
      case JsonTokens::Kind::word:
        if (place != 0) visitor.nothing(place, key);
        break;
      case JsonTokens::Kind::end:
        return;
    }
    key.clear();
  }
}

}  // namespace memflame
