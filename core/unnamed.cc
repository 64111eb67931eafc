// SPDX-License-Identifier: BSD-2-Clause
#include "core/unnamed.h"

#include <array>
#include <charconv>

namespace memflame {
namespace {

// "[libfoo.so+0x"
std::string beginning(std::string_view module) {
  constexpr std::string_view deleted = " (deleted)";
  if (module.ends_with(deleted)) module.remove_suffix(deleted.size());
  constexpr size_t longest = 255;  // of file names; it is copied for each address
  module = module.substr(module.rfind('/') + 1).substr(0, longest);
  if (module.starts_with('[') && module.ends_with(']') && module.size() > 1)
    module = module.substr(1, module.size() - 2);
  return "[" + std::string(module) + "+0x";
}

}  // namespace

std::string unnamed_code(std::string_view module, uint64_t where) {
  std::array<char, 16> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), where, 16).ptr;
  return beginning(module).append(digits.data(), end) + "]";
}

std::optional<uint64_t> where_unnamed(std::string_view name, std::string_view module) {
  const std::string begin = beginning(module);
  if (!name.starts_with(begin) || !name.ends_with(']')) return std::nullopt;
  name = name.substr(begin.size(), name.size() - begin.size() - 1);
  uint64_t where = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), where, 16);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return where;
}

}  // namespace memflame
