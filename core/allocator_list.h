// SPDX-License-Identifier: BSD-2-Clause
// Names of functions that allocate: allocators.txt, and the user's own files.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace memflame {

class AllocatorList {
 public:
  // Appends lines as allocators.txt explains them; the last line that matches counts. Throws Error,
  // with `origin` and the line, if a line is not a valid pattern.
  void add(std::string_view text, const std::string& origin);

  bool empty() const { return takes_out_.empty(); }

  // `function` as written in a stack, with or without arguments, version and offset.
  bool contains(std::string_view function) const;

 private:
  struct Wild {
    std::string text;
    size_t line = 0;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  std::vector<bool> takes_out_;  // by line
  std::unordered_map<std::string, size_t, TextHash, std::equal_to<>> exact_;
  std::array<std::vector<Wild>, 256> wild_;  // by the first byte; '*' can begin with any
};

// allocators.txt.
const AllocatorList& builtin_allocators();

}  // namespace memflame
