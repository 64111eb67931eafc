// SPDX-License-Identifier: BSD-2-Clause
// The tables that OpenTelemetry's profiles share; the first entry of each is an empty one.
#pragma once

#include <cstdint>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/inputs/pprof/pprof_message.h"

namespace memflame {

class OtlpDictionary {
 public:
  explicit OtlpDictionary(const pprof::Tables& tables) : tables_(tables) { add_text(""); }

  // All return the place in a table. Throw Error if the profile is damaged.
  int32_t add_text(std::string_view text);
  int32_t add_pprof_text(int64_t index);
  int32_t add_stack(const std::vector<uint64_t>& locations);
  int32_t add_attribute(std::string_view key, const std::string& text);
  int32_t add_attribute(std::string_view key, double number);

  // Writes what was added, and all mappings, locations and functions of the profile.
  void write(protozero::pbf_writer& request);

 private:
  int32_t add_attribute_message(const std::string& message);
  void write_mappings(protozero::pbf_writer& dictionary);
  void write_locations(protozero::pbf_writer& dictionary);
  void write_functions(protozero::pbf_writer& dictionary);

  const pprof::Tables& tables_;
  std::map<std::string, int32_t> places_;
  std::vector<const std::string*> texts_;
  std::map<std::vector<int32_t>, int32_t> stacks_;
  std::vector<const std::vector<int32_t>*> stack_order_;
  std::map<std::string, int32_t> attributes_;
  std::vector<const std::string*> attribute_order_;
};

// An AnyValue in the field `tag` of `to`.
void add_any_value(protozero::pbf_writer& to, uint32_t tag, const std::string& text);
void add_any_value(protozero::pbf_writer& to, uint32_t tag, double number);

}  // namespace memflame
