// SPDX-License-Identifier: BSD-2-Clause
// The languages of core/languages.def.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memflame {

// Recordings and BPF programs (enum language) have these numbers.
enum class Language : uint8_t {
  none,
#define MEMFLAME_LANGUAGE(name, word, mark, versions) name,
#include "core/languages.def"
#undef MEMFLAME_LANGUAGE
};

struct LanguageWords {
  std::string_view word, mark, versions;
};
inline constexpr std::array known_languages{
#define MEMFLAME_LANGUAGE(name, word, mark, versions) LanguageWords{word, mark, versions},
#include "core/languages.def"
#undef MEMFLAME_LANGUAGE
};

// "Python, JavaScript, Java, Ruby or PHP": `last` is "or" or "and".
inline std::string language_list(std::string_view last) {
  std::string list;
  for (size_t i = 0; i < known_languages.size(); ++i) {
    if (i != 0) list += i + 1 < known_languages.size() ? ", " : " " + std::string(last) + " ";
    list += known_languages[i].word;
  }
  return list;
}

// "Python 3.11 to 3.15, node, …".
inline std::string versions_that_are_read() {
  std::string list;
  for (const LanguageWords& each : known_languages)
    list += (list.empty() ? "" : ", ") + std::string(each.versions);
  return list;
}

}  // namespace memflame
