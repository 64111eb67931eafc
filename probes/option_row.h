// SPDX-License-Identifier: BSD-2-Clause
// An option of a probe as a row: its name, its value, its help, and the field that it sets. The
// command line's parser, --help, the manual page and shell completion are all made of the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace memflame {

// A word that an option takes, and what it means; "" where the word says it.
struct OptionWord {
  std::string_view name;
  std::string_view note{};
};

namespace option {

// What an option takes. `into` is written when the option is given, and only within its limits.
struct Switch {
  bool* into;
};
struct Number {
  uint32_t* into;
  uint32_t least = 0, most = UINT32_MAX;
};
struct Bytes {
  uint64_t* into;
  uint64_t least = 0, most = INT64_MAX;
};
struct Percent {
  double* into;  // finite, above 0
};
struct Text {
  std::string* into;
};
struct Texts {  // can be given several times
  std::vector<std::string>* into;
  std::vector<std::string> names{};  // that stand for a file
};
struct Choice {
  std::span<const OptionWord> words;
  std::function<void(size_t)> set;  // gets the place of the word
};
using Value = std::variant<Switch, Number, Bytes, Percent, Text, Texts, Choice>;

// Sets an enum whose values are in the order of the words.
template <class Enum>
Choice choice(std::span<const OptionWord> words, Enum& into) {
  return {words, [&into](size_t place) { into = static_cast<Enum>(place); }};
}
template <class Enum>
Choice choice(std::span<const OptionWord> words, std::optional<Enum>& into) {
  return {words, [&into](size_t place) { into = static_cast<Enum>(place); }};
}

}  // namespace option

// Under which heading an option is listed.
enum class OptionGroup : uint8_t { target, measure, blocks };

struct OptionRow {
  std::string name;
  std::string value_name;  // "BYTES"; empty for a switch
  std::string help;
  option::Value value;
  OptionGroup group = OptionGroup::measure;
};

// "slab, pages or all"; with notes "dwarf (unwind tables), fp (frame pointers) or copy".
std::string words_without_notes(std::span<const OptionWord> words);
std::string words_with_notes(std::span<const OptionWord> words);

}  // namespace memflame
