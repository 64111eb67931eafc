// SPDX-License-Identifier: BSD-2-Clause
#include "probes/options/option_row.h"

namespace memflame {
namespace {

std::string listed(std::span<const OptionWord> words, bool notes) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i != 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i].name;
    if (notes && !words[i].note.empty()) text += " (" + std::string(words[i].note) + ")";
  }
  return text;
}

}  // namespace

std::string words_without_notes(std::span<const OptionWord> words) { return listed(words, false); }
std::string words_with_notes(std::span<const OptionWord> words) { return listed(words, true); }

}  // namespace memflame
