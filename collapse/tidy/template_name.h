// SPDX-License-Identifier: BSD-2-Clause
// Takes the name of a template apart.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace memflame {

// "std::vector<int, A>::at": a template, its first two arguments, and the text behind.
struct TemplateName {
  std::string_view name;
  std::array<std::string_view, 2> arguments;
  std::string_view rest;
};

// Nothing if `text` is not the name of a template, or a bracket in it has no partner. In time
// linear in its length.
std::optional<TemplateName> template_name(std::string_view text);

}  // namespace memflame
