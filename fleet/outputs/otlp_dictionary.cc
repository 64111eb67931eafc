// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/outputs/otlp_dictionary.h"

#include "core/error.h"
#include "fleet/outputs/otlp_fields.h"

namespace memflame {
namespace {

using protozero::pbf_writer;

constexpr const char* build_id_attribute = "process.executable.build_id.gnu";

// The place of an entry of one of pprof's tables; 0 = there is none.
int32_t place(uint32_t index) {
  return index == pprof::IdTable::none ? 0 : static_cast<int32_t>(index) + 1;
}

void write_link(pbf_writer& dictionary) {
  pbf_writer link(dictionary, otlp::link_table);
  link.add_bytes(otlp::trace_id, std::string(16, '\0'));
  link.add_bytes(otlp::span_id, std::string(8, '\0'));
}

// The place of `key` in a table that keeps the order in which entries came.
template <class Key>
int32_t place_of(const Key& key, std::map<Key, int32_t>& places, std::vector<const Key*>& order,
                 int32_t first) {
  const auto [at, is_new] = places.try_emplace(key, static_cast<int32_t>(order.size()) + first);
  if (is_new) order.push_back(&at->first);
  return at->second;
}

}  // namespace

void add_any_value(pbf_writer& to, uint32_t tag, const std::string& text) {
  pbf_writer any(to, tag);
  any.add_string(otlp::string_value, text);
}

void add_any_value(pbf_writer& to, uint32_t tag, double number) {
  pbf_writer any(to, tag);
  any.add_double(otlp::double_value, number);
}

int32_t OtlpDictionary::add_text(std::string_view text) {
  return place_of(std::string(text), places_, texts_, 0);
}

int32_t OtlpDictionary::add_pprof_text(int64_t index) {
  if (index < 0 || static_cast<uint64_t>(index) >= tables_.strings.size())
    throw Error("the profile of a window has a text that is not there");
  return add_text(tables_.strings[static_cast<size_t>(index)]);
}

int32_t OtlpDictionary::add_stack(const std::vector<uint64_t>& locations) {
  std::vector<int32_t> indices;
  indices.reserve(locations.size());
  for (const uint64_t id : locations) indices.push_back(place(tables_.location_ids.find(id)));
  return place_of(indices, stacks_, stack_order_, 1);
}

int32_t OtlpDictionary::add_attribute_message(const std::string& message) {
  return place_of(message, attributes_, attribute_order_, 1);
}

int32_t OtlpDictionary::add_attribute(std::string_view key, const std::string& text) {
  std::string message;
  pbf_writer attribute(message);
  attribute.add_int32(otlp::key_index, add_text(key));
  add_any_value(attribute, otlp::attribute_value, text);
  return add_attribute_message(message);
}

int32_t OtlpDictionary::add_attribute(std::string_view key, double number) {
  std::string message;
  pbf_writer attribute(message);
  attribute.add_int32(otlp::key_index, add_text(key));
  add_any_value(attribute, otlp::attribute_value, number);
  return add_attribute_message(message);
}

void OtlpDictionary::write_mappings(pbf_writer& dictionary) {
  dictionary.add_message(otlp::mapping_table, std::string());
  for (const pprof::Mapping& known : tables_.mappings) {
    const int32_t build_id = add_pprof_text(known.build_id);
    const int32_t attribute =
        build_id == 0 ? 0
                      : add_attribute(build_id_attribute, *texts_[static_cast<size_t>(build_id)]);
    const int32_t name = add_pprof_text(known.file);
    pbf_writer mapping(dictionary, otlp::mapping_table);
    mapping.add_uint64(otlp::memory_start, known.start);
    mapping.add_uint64(otlp::memory_limit, known.limit);
    mapping.add_uint64(otlp::file_offset, known.offset);
    mapping.add_int32(otlp::file_name, name);
    if (attribute != 0)
      mapping.add_packed_int32(otlp::mapping_attributes, &attribute, &attribute + 1);
  }
}

void OtlpDictionary::write_locations(pbf_writer& dictionary) {
  dictionary.add_message(otlp::location_table, std::string());
  for (const pprof::Location& known : tables_.locations) {
    pbf_writer location(dictionary, otlp::location_table);
    location.add_int32(otlp::mapping_index, place(tables_.mapping_ids.find(known.mapping)));
    location.add_uint64(otlp::address, known.address);
    for (size_t i = known.first_line; i < known.last_line; ++i) {
      pbf_writer line(location, otlp::lines);
      line.add_int32(otlp::function_index,
                     place(tables_.function_ids.find(tables_.lines[i].function)));
      line.add_int64(otlp::line, tables_.lines[i].line);
    }
  }
}

void OtlpDictionary::write_functions(pbf_writer& dictionary) {
  dictionary.add_message(otlp::function_table, std::string());
  for (const pprof::Function& known : tables_.functions) {
    pbf_writer function(dictionary, otlp::function_table);
    function.add_int32(otlp::name, add_pprof_text(known.name));
    function.add_int32(otlp::system_name, add_pprof_text(known.system_name));
    function.add_int32(otlp::function_file, add_pprof_text(known.file));
    function.add_int64(otlp::start_line, known.start_line);
  }
}

void OtlpDictionary::write(pbf_writer& request) {
  pbf_writer dictionary(request, otlp::dictionary);
  write_mappings(dictionary);
  write_locations(dictionary);
  write_functions(dictionary);
  write_link(dictionary);
  dictionary.add_message(otlp::stack_table, std::string());
  for (const std::vector<int32_t>* const stack : stack_order_) {
    pbf_writer one(dictionary, otlp::stack_table);
    one.add_packed_int32(otlp::location_indices, stack->begin(), stack->end());
  }
  dictionary.add_message(otlp::attribute_table, std::string());
  for (const std::string* const one : attribute_order_)
    dictionary.add_message(otlp::attribute_table, *one);
  // Last, as the others add texts.
  for (const std::string* const text : texts_) dictionary.add_string(otlp::string_table, *text);
}

}  // namespace memflame
