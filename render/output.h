// The formats a profile can be written in. A new one is a file in outputs/ and a line in
// outputs.def.
#pragma once

#include <ostream>
#include <span>
#include <string_view>

#include "core/profile.h"
#include "render/options.h"

namespace memflame {

#define OUTPUT(name, suffix, help) \
  void write_##name(std::ostream& out, const Profile& profile, const RenderOptions& options);
#include "render/outputs.def"
#undef OUTPUT

struct Output {
  std::string_view name;    // for --format
  std::string_view suffix;  // of a file that is written in it
  std::string_view help;
  void (*write)(std::ostream& out, const Profile& profile, const RenderOptions& options);
};

std::span<const Output> outputs();

// `format` decides if it is not empty, else the suffix of `path`, else it is SVG. Throws Error
// (usage) that lists the formats.
const Output& output_for(std::string_view format, std::string_view path);

}  // namespace memflame
