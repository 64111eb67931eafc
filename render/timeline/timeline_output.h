// SPDX-License-Identifier: BSD-2-Clause
// The formats a timeline can be written in. A new one is a file in this folder and a line in
// timeline_outputs.def.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "core/timeline.h"

namespace memflame {

struct TimelineLooks {
  int width = 1200;         // of a picture, in px
  int columns = 80;         // of text
  bool utf8 = true;         // text may have letters beyond ASCII
  bool own_scales = false;  // each stack fills its band; else all have one scale
};

#define OUTPUT(name, suffix, help, is_picture)                            \
  void write_timeline_##name(std::ostream& out, const Timeline& timeline, \
                             const TimelineLooks& looks);
#include "render/timeline/timeline_outputs.def"
#undef OUTPUT

struct TimelineOutput {
  std::string_view name;    // for --format
  std::string_view suffix;  // of a file that is written in it
  std::string_view help;
  void (*write)(std::ostream& out, const Timeline& timeline, const TimelineLooks& looks);
  bool is_picture;
};

std::span<const TimelineOutput> timeline_outputs();

// `format` decides if it is not empty, else the suffix of `path`, else it is text. Throws Error
// (usage) that lists the formats.
const TimelineOutput& timeline_output_for(std::string_view format, std::string_view path);

}  // namespace memflame
