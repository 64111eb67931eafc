// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/pprof/pprof_message.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>

#include "core/hash.h"

namespace memflame::pprof {
namespace {

using protozero::pbf_wire_type;

// One field of a message, of the two kinds in this format; others are skipped.
struct Field {
  uint32_t tag = 0;
  bool is_bytes = false;
  uint64_t number = 0;
  std::string_view bytes;
  int64_t integer() const { return static_cast<int64_t>(number); }
};

template <class Take>
void for_fields(std::string_view message, const Take& take) {
  protozero::pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    Field field{.tag = reader.tag(), .bytes = {}};
    if (reader.wire_type() == pbf_wire_type::varint) {
      field.number = reader.get_uint64();
    } else if (reader.wire_type() == pbf_wire_type::length_delimited) {
      const protozero::data_view view = reader.get_view();
      field.bytes = {view.data(), view.size()};
      field.is_bytes = true;
    } else {
      reader.skip();
      continue;
    }
    take(field);
  }
}

// A repeated number: one, or many packed.
template <class Number>
void append(std::vector<Number>& into, const Field& field) {
  if (!field.is_bytes) {
    into.push_back(static_cast<Number>(field.number));
    return;
  }
  const char* at = field.bytes.data();
  const char* const end = at + field.bytes.size();
  while (at != end) into.push_back(static_cast<Number>(protozero::decode_varint(&at, end)));
}

pprof::ValueType read_value_type(std::string_view message) {
  ValueType type;
  for_fields(message, [&](const Field& field) {
    if (field.tag == value_type_type) type.type = field.integer();
    if (field.tag == value_type_unit) type.unit = field.integer();
  });
  return type;
}

void add_mapping(Tables& tables, std::string_view message) {
  Mapping mapping;
  uint64_t id = 0;
  for_fields(message, [&](const Field& field) {
    if (field.tag == mapping_id) id = field.number;
    if (field.tag == mapping_start) mapping.start = field.number;
    if (field.tag == mapping_limit) mapping.limit = field.number;
    if (field.tag == mapping_offset) mapping.offset = field.number;
    if (field.tag == mapping_file) mapping.file = field.integer();
    if (field.tag == mapping_build_id) mapping.build_id = field.integer();
  });
  if (tables.mapping_ids.add(id))
    tables.mappings.push_back(mapping);
  else
    ++tables.ids_used_twice;
}

void add_location(Tables& tables, std::string_view message) {
  Location location;
  uint64_t id = 0;
  location.first_line = tables.lines.size();
  for_fields(message, [&](const Field& field) {
    if (field.tag == location_id) id = field.number;
    if (field.tag == location_mapping_id) location.mapping = field.number;
    if (field.tag == location_address) location.address = field.number;
    if (field.tag != location_line || !field.is_bytes) return;
    Line& line = tables.lines.emplace_back();
    for_fields(field.bytes, [&](const Field& of_line) {
      if (of_line.tag == line_function_id) line.function = of_line.number;
      if (of_line.tag == line_line) line.line = of_line.integer();
    });
  });
  location.last_line = tables.lines.size();
  if (tables.location_ids.add(id)) {
    tables.locations.push_back(location);
    return;
  }
  ++tables.ids_used_twice;
  tables.lines.resize(location.first_line);
}

void add_function(Tables& tables, std::string_view message) {
  Function function;
  uint64_t id = 0;
  for_fields(message, [&](const Field& field) {
    if (field.tag == function_id) id = field.number;
    if (field.tag == function_name) function.name = field.integer();
    if (field.tag == function_system_name) function.system_name = field.integer();
    if (field.tag == function_file) function.file = field.integer();
    if (field.tag == function_start_line) function.start_line = field.integer();
  });
  if (tables.function_ids.add(id))
    tables.functions.push_back(function);
  else
    ++tables.ids_used_twice;
}

void take_message(Tables& tables, uint32_t tag, std::string_view bytes) {
  if (tag == profile_sample_type) tables.sample_types.push_back(read_value_type(bytes));
  if (tag == profile_sample) tables.samples.push_back(bytes);
  if (tag == profile_mapping) add_mapping(tables, bytes);
  if (tag == profile_location) add_location(tables, bytes);
  if (tag == profile_function) add_function(tables, bytes);
  if (tag == profile_string_table) tables.strings.push_back(bytes);
  if (tag == profile_period_type) tables.period_type = read_value_type(bytes);
}

void take_number(Tables& tables, const Field& field) {
  if (field.tag == profile_drop_frames) tables.drop_frames = field.integer();
  if (field.tag == profile_keep_frames) tables.keep_frames = field.integer();
  if (field.tag == profile_time_nanos) tables.time = field.integer();
  if (field.tag == profile_duration_nanos) tables.duration = field.integer();
  if (field.tag == profile_period) tables.period = field.integer();
  if (field.tag == profile_default_sample_type) tables.default_sample_type = field.integer();
}

// The fields is_pprof() allows, each of the kind that the format gives it.
constexpr uint32_t messages = 1U << profile_sample_type | 1U << profile_sample |
                              1U << profile_mapping | 1U << profile_location |
                              1U << profile_function | 1U << profile_string_table |
                              1U << profile_period_type | 1U << profile_comment;
constexpr uint32_t numbers = 1U << profile_drop_frames | 1U << profile_keep_frames |
                             1U << profile_time_nanos | 1U << profile_duration_nanos |
                             1U << profile_period | 1U << profile_comment |
                             1U << profile_default_sample_type | 1U << profile_last;

bool only_numbers(std::string_view message, uint32_t last_tag) {
  bool good = !message.empty();
  for_fields(message,
             [&](const Field& field) { good = good && !field.is_bytes && field.tag <= last_tag; });
  return good;
}

}  // namespace

bool IdTable::add(uint64_t id) {
  if (find(id) != none) return false;
  ids_.push_back(id);
  index_.insert(mix(id, 0), static_cast<uint32_t>(ids_.size()));
  return true;
}

uint32_t IdTable::find(uint64_t id) const {
  // 0, for "not found", wraps around to none.
  return index_.find(mix(id, 0), [&](uint32_t at) { return ids_[at - 1] == id; }) - 1;
}

Tables read_tables(std::string_view message) {
  Tables tables;
  for_fields(message, [&](const Field& field) {
    if (field.tag == profile_comment)
      append(tables.comments, field);
    else if (field.is_bytes)
      take_message(tables, field.tag, field.bytes);
    else
      take_number(tables, field);
  });
  return tables;
}

void read_sample(std::string_view message, Sample& sample) {
  sample.locations.clear();
  sample.values.clear();
  sample.labels.clear();
  for_fields(message, [&](const Field& field) {
    if (field.tag == sample_location_id) append(sample.locations, field);
    if (field.tag == sample_value) append(sample.values, field);
    if (field.tag != sample_label || !field.is_bytes) return;
    Label& label = sample.labels.emplace_back();
    for_fields(field.bytes, [&](const Field& of_label) {
      if (of_label.tag == label_key) label.key = of_label.integer();
      if (of_label.tag == label_str) label.text = of_label.integer();
      if (of_label.tag == label_num) label.number = of_label.integer();
    });
  });
}

bool looks_like_profile(std::string_view head) {
  bool good = true, has_types = false;
  try {
    for_fields(head, [&](const Field& field) {
      const uint32_t bit = field.tag <= profile_last ? 1U << field.tag : 0;
      good = good && ((field.is_bytes ? messages : numbers) & bit) != 0;
      if (field.tag != profile_sample_type) return;
      good = good && only_numbers(field.bytes, value_type_unit);
      has_types = true;
    });
  } catch (const protozero::exception&) {
    // `head` ends in the middle of a field.
  }
  return good && has_types;
}

}  // namespace memflame::pprof
