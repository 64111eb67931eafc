// SPDX-License-Identifier: BSD-2-Clause
// Which Go made a program, from the section that `go version FILE` reads.
#pragma once

#include <optional>

#include "core/elf/image.h"

namespace memflame {

struct GoVersion {
  unsigned major = 0, minor = 0;
  friend auto operator<=>(const GoVersion&, const GoVersion&) = default;
};

// "go1.22.3" and "devel go1.24-abc" -> 1.22, 1.24; none for other texts.
std::optional<GoVersion> parse_go_version(std::string_view text);

// The version of a program made by Go 1.18 or newer; older ones hold a pointer in its place. None
// without a version.
//
// Source: debug/buildinfo/buildinfo.go of Go 1.18 to 1.25.
std::optional<GoVersion> go_version(const ImageBytes& image, const ElfImage& elf);

}  // namespace memflame
