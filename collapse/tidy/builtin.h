// The data files of this folder, as bytes of the program.
#pragma once

#include <span>
#include <string_view>

namespace memflame {

struct EmbeddedFile {
  std::string_view name;  // without its folder
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_allocators();

}  // namespace memflame
