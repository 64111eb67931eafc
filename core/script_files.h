// SPDX-License-Identifier: BSD-2-Clause
// Files of interpreted languages, by their paths.
#pragma once

#include <string_view>

#include "core/profile.h"

namespace memflame {

// Whether a function is one of an interpreted language: it has no module but its
// file.
bool is_script(const Profile& profile, const Frame& frame);

// The package that a file of an interpreted language belongs to: "flask", "rack",
// "symfony/console", "@scope/name"; "python", "ruby" or "node" for what comes with the interpreter,
// "composer" for PHP's loader; "" if it is the application's own.
std::string_view script_package(std::string_view path);

// Whether a file is an interpreter: "/usr/bin/python3.11", "libpython3.12.so.1.0",
// "libruby-3.1.so.3.1", "php-fpm8.2", "node".
bool is_interpreter(std::string_view path);

}  // namespace memflame
