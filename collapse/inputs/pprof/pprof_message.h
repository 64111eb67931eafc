// SPDX-License-Identifier: BSD-2-Clause
// Reads the protobuf messages of core/pprof.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/hash_index.h"
#include "core/pprof.h"

namespace memflame::pprof {

// Maps ids, which are any numbers but 0, to places in a table.
class IdTable {
 public:
  static constexpr uint32_t none = UINT32_MAX;
  // False if it is there already.
  bool add(uint64_t id);
  uint32_t find(uint64_t id) const;

 private:
  HashIndex index_;
  std::vector<uint64_t> ids_;
};

// Texts are indices in `strings`.
struct ValueType {
  int64_t type = 0, unit = 0;
};
struct Mapping {
  uint64_t start = 0, limit = 0, offset = 0;
  int64_t file = 0, build_id = 0;
};
struct Function {
  int64_t name = 0, system_name = 0, file = 0, start_line = 0;
};
struct Line {
  uint64_t function = 0;
  int64_t line = 0;
};
struct Location {
  uint64_t mapping = 0, address = 0;
  size_t first_line = 0, last_line = 0;  // in Tables::lines, innermost first
};
struct Label {
  int64_t key = 0, text = 0, number = 0;
};
struct Sample {
  std::vector<uint64_t> locations;  // leaf first
  std::vector<int64_t> values;
  std::vector<Label> labels;
};

// All but the samples, which stay bytes. Views point into the message.
struct Tables {
  std::vector<ValueType> sample_types;
  std::vector<std::string_view> strings, samples;
  std::vector<Mapping> mappings;
  std::vector<Location> locations;
  std::vector<Line> lines;
  std::vector<Function> functions;
  IdTable mapping_ids, location_ids, function_ids;
  size_t ids_used_twice = 0;
  int64_t drop_frames = 0, keep_frames = 0, default_sample_type = 0;
  int64_t time = 0, duration = 0, period = 0;  // ns
  ValueType period_type;
  std::vector<int64_t> comments;
};

// Both throw protozero::exception if the bytes are not a valid message.
Tables read_tables(std::string_view message);
void read_sample(std::string_view message, Sample& sample);

// Whether a message that begins like this can only be such a profile. `head` may end anywhere.
bool looks_like_profile(std::string_view head);

}  // namespace memflame::pprof
