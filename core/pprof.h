// SPDX-License-Identifier: BSD-2-Clause
// The fields of pprof's profile.proto that memflame knows; collapse reads them and render writes
// them. The numbers come from the public description of the format.
#pragma once

#include <cstdint>
#include <string_view>

namespace memflame::pprof {

enum ProfileField : uint32_t {
  profile_sample_type = 1,
  profile_sample = 2,
  profile_mapping = 3,
  profile_location = 4,
  profile_function = 5,
  profile_string_table = 6,
  profile_drop_frames = 7,
  profile_keep_frames = 8,
  profile_time_nanos = 9,
  profile_duration_nanos = 10,
  profile_period_type = 11,
  profile_period = 12,
  profile_comment = 13,
  profile_default_sample_type = 14,
  profile_last = 15,
};
enum ValueTypeField : uint32_t { value_type_type = 1, value_type_unit = 2 };
enum SampleField : uint32_t { sample_location_id = 1, sample_value = 2, sample_label = 3 };
enum LabelField : uint32_t { label_key = 1, label_str = 2, label_num = 3 };
enum MappingField : uint32_t {
  mapping_id = 1,
  mapping_start = 2,
  mapping_limit = 3,
  mapping_offset = 4,
  mapping_file = 5,
  mapping_build_id = 6,
  mapping_has_functions = 7,
  mapping_has_filenames = 8,
  mapping_has_lines = 9,
  mapping_has_inlined = 10,
};
enum LocationField : uint32_t {
  location_id = 1,
  location_mapping_id = 2,
  location_address = 3,
  location_line = 4,
};
// The mapping of memflame's own frames, so that each location has one: some stores reject a profile
// with a location without a mapping.
inline constexpr std::string_view own_mapping = "[memflame]";

// A comment on code without names: "# unnamed BUILD-ID START… ADDRESS=START…", in hex. Its
// locations have no lines, so that a profile store looks for names. The comment keeps the names
// that memflame gives them: an address has the START of its ADDRESS=START, else the last START that
// is not behind it.
inline constexpr std::string_view unnamed_comment = "# unnamed ";

enum LineField : uint32_t { line_function_id = 1, line_line = 2 };
enum FunctionField : uint32_t {
  function_id = 1,
  function_name = 2,
  function_system_name = 3,
  function_file = 4,
  function_start_line = 5,
};

}  // namespace memflame::pprof
