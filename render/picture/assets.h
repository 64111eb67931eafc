// SPDX-License-Identifier: BSD-2-Clause
// The parts that pictures embed, as bytes of the program: styles, and the modules of viewer/ as one
// script.
#pragma once

#include <string>
#include <string_view>

#include "palettes/palettes.h"

namespace memflame {

std::span<const EmbeddedFile> embedded_assets();

// One of them, by its file name.
std::string_view asset(std::string_view name);

// A Content-Security-Policy that allows a page's own script and style, and nothing else:
// "default-src 'none'; script-src 'sha256-…'; style-src 'sha256-…'". One that `fetches` may ask the
// server it comes from.
std::string page_policy(const std::string& script = "viewer.js",
                        const std::string& style = "page_all.css", bool fetches = false);

}  // namespace memflame
