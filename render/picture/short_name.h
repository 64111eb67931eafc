// SPDX-License-Identifier: BSD-2-Clause
// As much of a name as fits into a box. viewer/label.mjs does the same in a browser;
// tests/data/short_names.json has examples for both.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "render/picture/options.h"

namespace memflame {

// Ever shorter forms of a C++ or Rust name: without arguments, without template arguments, without
// the namespaces around the class, and without the class, with a mark in its place. None if the
// name has nothing that may go.
std::vector<std::string> shorter_names(std::string_view name);

// `name` shortened to `room`: to one of these forms, if possible with letters of the class, else
// without letters at the end that `side` names. "" if nothing worth reading is left. `width_of` is
// asked for single letters; `room` is in its unit.
using LetterWidth = std::function<double(std::string_view letter)>;
std::string short_name(std::string_view name, double room, const LetterWidth& width_of, Elide side);

}  // namespace memflame
