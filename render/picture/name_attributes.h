// SPDX-License-Identifier: BSD-2-Clause
// What a file adds to functions: the target of a click, and a text for the tooltip.
#pragma once

#include <string>
#include <string_view>

#include "render/picture/options.h"

namespace memflame {

struct ReadAttributes {
  std::map<std::string, NameAttributes, std::less<>> by_name{};
  size_t ignored = 0;  // attributes that are never taken from a file, and links that are not http
};

// Lines "name TAB attribute=value TAB …", as flamegraph.pl takes them. Only the attributes title,
// target and href are used, href only for http and https: a file must never run code. Throws Error,
// with `origin` and the line, if there is no "=".
ReadAttributes read_name_attributes(std::string_view text, const std::string& origin);

}  // namespace memflame
