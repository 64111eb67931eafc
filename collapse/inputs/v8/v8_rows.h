// SPDX-License-Identifier: BSD-2-Clause
// V8's snapshots hold rows of numbers in flat lists, and say at their beginning which fields a row
// has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/text/issues.h"
#include "collapse/text/json_tokens.h"

namespace memflame {

inline constexpr size_t no_v8_field = SIZE_MAX;

struct V8Fields {
  std::vector<std::string> names;

  size_t of(std::string_view name) const;  // no_v8_field if it is missing
  void take(JsonTokens& json);             // a list of names
};

// Throws Error unless the next token is of this kind.
void begin_v8(JsonTokens& json, JsonTokens::Kind kind, const char* what);

// Calls `row` with each row; a row has as many numbers as there are fields.
template <class Row>
void take_v8_rows(JsonTokens& json, const V8Fields& fields, const char* what, Issues& issues,
                  Row row) {
  if (fields.names.empty())
    json.fail(std::string("\"") + what + "\" comes before its fields are named,");
  begin_v8(json, JsonTokens::Kind::begin_array, what);
  std::vector<int64_t> numbers(fields.names.size());
  size_t at = 0;
  while (json.next() != JsonTokens::Kind::end_array) {
    const auto number = json.integer();
    if (!number) json.fail(std::string("\"") + what + "\" has something that is not a number,");
    numbers[at++] = *number;
    if (at != numbers.size()) continue;
    at = 0;
    row(numbers);
  }
  if (at != 0) issues.add("a last row that is not complete", 0, what);
}

}  // namespace memflame
