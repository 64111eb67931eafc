// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/v8/v8_rows.h"

#include <algorithm>

namespace memflame {

size_t V8Fields::of(std::string_view name) const {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? no_v8_field : static_cast<size_t>(at - names.begin());
}

void V8Fields::take(JsonTokens& json) {
  constexpr size_t most = 64;
  begin_v8(json, JsonTokens::Kind::begin_array, "…_fields");
  names.clear();
  while (json.next() == JsonTokens::Kind::string && names.size() < most)
    names.emplace_back(json.text());
  if (json.kind() != JsonTokens::Kind::end_array) json.fail("these are not names of fields,");
}

void begin_v8(JsonTokens& json, JsonTokens::Kind kind, const char* what) {
  if (json.next() != kind) json.fail(std::string("\"") + what + "\" is not what V8 writes,");
}

}  // namespace memflame
