// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <re2/re2.h>

#include <string_view>
#include <type_traits>

namespace memflame {

namespace re2_text_detail {
template <typename Text>
Text text_of(bool (*match)(Text, const re2::RE2&, const re2::RE2::Arg* const[], int));
}  // namespace re2_text_detail

// The text type that RE2 matches and captures: its own re2::StringPiece in Debian 12,
// absl::string_view in Debian 13, which is not always std::string_view.
using Re2Text = std::remove_cvref_t<decltype(re2_text_detail::text_of(&re2::RE2::FullMatchN))>;

// Points into `text`.
inline Re2Text re2_text(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view from_re2(const Re2Text& text) { return {text.data(), text.size()}; }

}  // namespace memflame
