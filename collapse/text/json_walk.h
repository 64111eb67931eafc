// SPDX-License-Identifier: BSD-2-Clause
// JSON of any length, one value at a time: a table of steps says what a reader asks for, and the
// rest is skipped. There is no recursion and no tree of the document; memory is one byte for each
// open place, and what JsonTokens needs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collapse/source/source.h"
#include "collapse/text/json_number.h"

namespace memflame {

// Inside place `from`, the object or array at `key` is place `to`. The key "" stands for each
// element of an array, "*" for any key. Place 1 is the document itself; place 0 is skipped.
struct JsonStep {
  uint8_t from;
  std::string_view key;
  uint8_t to;
};

// Receives the values in the places that the steps name. Keys are "" in arrays and for the
// document.
class JsonVisitor {
 public:
  JsonVisitor() = default;
  JsonVisitor(const JsonVisitor&) = delete;
  JsonVisitor& operator=(const JsonVisitor&) = delete;
  virtual ~JsonVisitor() = default;
  virtual void begin(uint8_t /*place*/, std::string_view /*key*/) {}
  virtual void end(uint8_t /*place*/) {}
  virtual void text(uint8_t /*place*/, std::string_view /*key*/, std::string& /*text*/) {}
  virtual void number(uint8_t /*place*/, std::string_view /*key*/, const JsonNumber& /*number*/) {}
  virtual void nothing(uint8_t /*place*/, std::string_view /*key*/) {}  // true, false and null
};

// Throws Error, as JsonTokens does, if the source is not JSON.
void walk_json(Source& source, std::span<const JsonStep> steps, JsonVisitor& visitor);

}  // namespace memflame
