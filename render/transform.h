// SPDX-License-Identifier: BSD-2-Clause
// Changes a profile before it is written, whatever the format.
#pragma once

#include <string>
#include <string_view>

#include "core/profile.h"
#include "render/picture/options.h"

namespace memflame {

struct Transform {
  bool reverse = false;      // callers first: stacks from the innermost frame on
  std::string total{};       // "" = the sum; the part above that becomes a frame of its own
  std::string factor{};      // "" = 1; a decimal number above 0, "0.001"
  std::string count_name{};  // what values count: a unit for plain counts, else the column's name
  std::string notes{};       // a further line of the picture
  bool anonymise = false;    // leave out the command line, the host and the folders of sources
  friend bool operator==(const Transform&, const Transform&) = default;
};

// Throws Error (usage) if a number is not valid, before anything is measured.
void check_transform(const Transform& transform);

// Secrets in the command line are always hidden (core/secrets.h). Values stay exact: a factor with
// a fraction gives values with decimals. A note says what could not be done. Throws Error if a
// value does not fit in 64 bits.
Profile transformed(Profile profile, const Transform& transform, WidthOf width);

}  // namespace memflame
