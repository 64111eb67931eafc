// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/v8/memory.h"

namespace memflame {

std::optional<uint32_t> V8Memory::number(uint64_t value) {
  if (static_cast<uint32_t>(value) != 0 || value >> 63U != 0) return std::nullopt;
  return static_cast<uint32_t>(value >> 32U);
}

uint64_t V8Memory::field(uint64_t object, uint64_t offset) const {
  uint64_t value = 0;
  return is_object(object) && read_(object - 1 + offset, &value, sizeof(value)) ? value : 0;
}

bool V8Memory::is(uint64_t object, uint16_t type) const {
  const uint64_t map = field(object, 0);
  uint16_t its = 0;
  return is_object(map) && read_(map - 1 + bpf::v8_map_type, &its, sizeof(its)) && its == type;
}

uint64_t V8Memory::key_of(uint64_t info) const {
  if (!is(info, layout_.info_type)) return 0;
  const uint64_t script = field(info, bpf::v8_info_script);
  uint32_t of_function = 0;
  if (!is(script, layout_.script_type) ||
      !read_(info - 1 + bpf::v8_info_number, &of_function, sizeof(of_function)))
    return 0;
  const std::optional<uint32_t> of_script = number(field(script, bpf::v8_script_number));
  return of_script ? bpf::v8_key(thread_, *of_script, of_function) : 0;
}

std::optional<uint32_t> V8Memory::length(uint64_t object, uint16_t type, size_t item) const {
  constexpr size_t most_bytes = size_t{4} << 20U;
  if (!is(object, type)) return std::nullopt;
  const std::optional<uint32_t> items = number(field(object, bpf::v8_array_length));
  return items && *items <= most_bytes / item ? items : std::nullopt;
}

std::optional<std::vector<uint8_t>> V8Memory::bytes(uint64_t object, uint16_t type,
                                                    uint64_t items) const {
  const std::optional<uint32_t> count = length(object, type, 1);
  if (!count) return std::nullopt;
  std::vector<uint8_t> all(*count);
  if (!all.empty() && !read_(object - 1 + items, all.data(), all.size())) return std::nullopt;
  return all;
}

std::optional<std::vector<uint64_t>> V8Memory::words(uint64_t object, uint16_t type) const {
  const std::optional<uint32_t> count = length(object, type, sizeof(uint64_t));
  if (!count) return std::nullopt;
  std::vector<uint64_t> all(*count);
  if (!all.empty() &&
      !read_(object - 1 + bpf::v8_array_items, all.data(), all.size() * sizeof(uint64_t)))
    return std::nullopt;
  return all;
}

}  // namespace memflame
