// SPDX-License-Identifier: BSD-2-Clause
// The formats a profile can be written in. A new one is a file in outputs/ and a line in
// outputs.def.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"
#include "render/picture/options.h"

namespace memflame {

#define OUTPUT(name, suffix, help, holds) \
  void write_##name(std::ostream& out, const Profile& profile, const RenderOptions& options);
#include "render/outputs.def"
#undef OUTPUT

// Facts of a profile beyond the values of one column, which some formats cannot hold.
enum Holds : uint32_t {
  columns = 1,     // several
  modules = 2,     // of frames
  places = 4,      // source files and lines
  kinds = 8,       // kernel, inlined, jit
  errors = 16,     // of estimates
  fractions = 32,  // of figures
  large = 64,      // figures beyond 2^53, exact for the format's usual readers
  negative = 128,  // figures
  notes = 256,     // title, notes and losses
  marks = 512,     // a function whose own name ends in a mark of folded text
  everything = 1023,
  // What not every profile has, and nobody expects of a format:
  code = 1024,      // addresses in files
  verdicts = 2048,  // on stacks
  // Frames that stacks share, once: the size does not depend on how deep the stacks are.
  sharing = 4096,
  // How it is looked at, which decides about options and terminals:
  as_image = 8192,     // in a file of its own, as an image
  as_page = 16384,     // with all that is drawn, however small
  with_links = 32768,  // of boxes, and tooltips
  as_cells = 65536,    // of a terminal
  if_asked = 131072,   // several columns if they are asked for, as also a difference has
};

struct Output {
  std::string_view name;    // for --format
  std::string_view suffix;  // of a file that is written in it
  std::string_view help;
  void (*write)(std::ostream& out, const Profile& profile, const RenderOptions& options);
  uint32_t holds;

  bool is(Holds what) const { return (holds & what) != 0; }
};

std::span<const Output> outputs();

// `format` decides if it is not empty, else the suffix of `path`, else SVG. Throws Error (usage)
// that lists the formats.
const Output& output_for(std::string_view format, std::string_view path);

// Throws Error if every stack is written as a list of its frames, and deep stacks make these lists
// too long to be of use.
void require_short_lists(const Output& output, const Profile& profile);

// The parts of this profile that a format cannot hold: "the columns calls, peak".
std::vector<std::string> left_out(const Output& output, const Profile& profile);

}  // namespace memflame
