// SPDX-License-Identifier: BSD-2-Clause
// What is done to a profile before it is written, whatever the format.
#pragma once

#include <string>
#include <string_view>

#include "core/profile.h"
#include "render/options.h"

namespace memflame {

struct Transform {
  bool reverse = false;      // callers first: stacks from the innermost frame on
  std::string total{};       // "" = the sum; what it is more than that becomes a frame of its own
  std::string factor{};      // "" = 1; a decimal number above 0, "0.001"
  std::string count_name{};  // what figures are: a unit for plain counts, else the column's name
  std::string notes{};       // a further line of the picture
  bool anonymise = false;    // leave out the command line, the host and the folders of sources
  friend bool operator==(const Transform&, const Transform&) = default;
};

// Throws Error (usage) when a number is none, before anything is measured.
void check_transform(const Transform& transform);

// Secrets in the command line are hidden in any case (core/secrets.h). Figures stay exact: a factor
// with a fraction gives figures with decimals. What could not be done is told in a note. Throws
// Error when a figure leaves 64 bits.
Profile transformed(Profile profile, const Transform& transform, WidthOf width);

}  // namespace memflame
