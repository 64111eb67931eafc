// SPDX-License-Identifier: BSD-2-Clause
// Data files that are part of the program (render/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace memflame {

struct EmbeddedFile {
  std::string_view name;  // without its folder
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_allocators();  // allocators.txt
std::span<const EmbeddedFile> embedded_containers();  // containers.txt

}  // namespace memflame
