// SPDX-License-Identifier: BSD-2-Clause
// Fields of OpenTelemetry's profiles, by the public definition: opentelemetry-proto,
// profiles/v1development.
#pragma once

#include <cstdint>

namespace memflame::otlp {

enum Request : uint32_t { resource_profiles = 1, dictionary = 2 };
enum ResourceProfiles : uint32_t { resource = 1, scope_profiles = 2 };
enum Resource : uint32_t { resource_attributes = 1 };
enum ScopeProfiles : uint32_t { scope = 1, profiles = 2 };
enum Scope : uint32_t { scope_name = 1 };
enum KeyValue : uint32_t { key = 1, value = 2 };
enum AnyValue : uint32_t { string_value = 1, double_value = 4 };
enum Profile : uint32_t {
  sample_type = 1,
  samples = 2,
  time_unix_nano = 3,
  duration_nano = 4,
  period_type = 5,
  period = 6,
  profile_id = 7,
  profile_attributes = 11,
};
enum ValueType : uint32_t { type_name = 1, unit = 2 };
enum Sample : uint32_t { stack_index = 1, values = 4 };
enum Dictionary : uint32_t {
  mapping_table = 1,
  location_table = 2,
  function_table = 3,
  link_table = 4,
  string_table = 5,
  attribute_table = 6,
  stack_table = 7,
};
enum Mapping : uint32_t {
  memory_start = 1,
  memory_limit = 2,
  file_offset = 3,
  file_name = 4,
  mapping_attributes = 5,
};
enum Location : uint32_t { mapping_index = 1, address = 2, lines = 3 };
enum Line : uint32_t { function_index = 1, line = 2 };
enum Function : uint32_t { name = 1, system_name = 2, function_file = 3, start_line = 4 };
enum Stack : uint32_t { location_indices = 1 };
enum Link : uint32_t { trace_id = 1, span_id = 2 };
enum KeyValueAndUnit : uint32_t { key_index = 1, attribute_value = 2 };
enum Response : uint32_t { partial_success = 1 };
enum PartialSuccess : uint32_t { rejected_profiles = 1, error_message = 2 };

}  // namespace memflame::otlp
