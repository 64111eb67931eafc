// SPDX-License-Identifier: BSD-2-Clause
// An option of a probe as a row: its name, its value, its help, and the field that it sets. The
// command line's parser, --help, the manual page and shell completion are all made from the rows.
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

// A word that an option takes, and its meaning; "" if the word explains itself.
struct OptionWord {
  std::string_view name;
  std::string_view note{};
};

namespace option {

// The values that an option takes. If the option is given and its value is within the limits, the
// parser writes it to `into`.
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
struct Texts {  // the option may be repeated
  std::vector<std::string>* into;
  std::vector<std::string> names{};  // for completion: words that are accepted besides file names
};
struct Choice {
  std::span<const OptionWord> words;
  std::function<void(size_t)> set;  // gets the index of the word
};
using Value = std::variant<Switch, Number, Bytes, Percent, Text, Texts, Choice>;

// Sets an enum. Its values must be in the order of the words.
template <class Enum>
Choice choice(std::span<const OptionWord> words, Enum& into) {
  return {words, [&into](size_t place) { into = static_cast<Enum>(place); }};
}
template <class Enum>
Choice choice(std::span<const OptionWord> words, std::optional<Enum>& into) {
  return {words, [&into](size_t place) { into = static_cast<Enum>(place); }};
}

}  // namespace option

// The heading that an option is listed under.
enum class OptionGroup : uint8_t { target, measure, blocks };

struct OptionRow {
  std::string name;
  std::string value_name;  // "BYTES"; empty for a switch
  std::string help;
  option::Value value;
  OptionGroup group = OptionGroup::measure;
};

// "slab, pages or all", and with notes "dwarf (unwind tables), fp (frame pointers) or copy".
std::string words_without_notes(std::span<const OptionWord> words);
std::string words_with_notes(std::span<const OptionWord> words);

}  // namespace memflame
