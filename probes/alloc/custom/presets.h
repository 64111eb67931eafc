// SPDX-License-Identifier: BSD-2-Clause
// The files of presets/, embedded in the program. preset.cc reads them.
#pragma once

#include <span>
#include <string_view>

namespace memflame {

struct EmbeddedFile {
  std::string_view name;  // "NAME.json", without the folder
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_presets();

}  // namespace memflame
