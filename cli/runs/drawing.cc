// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/drawing.h"

#include <iostream>
#include <utility>

#include "cli/files/output_file.h"
#include "core/error.h"
#include "render/picture/palette.h"

namespace memflame {

Profile tidied(Profile profile, const TidyOptions& options) {
  const size_t notes = profile.meta.notes.size();
  const bool had_stacks = !profile.touched().empty();
  profile = tidy(std::move(profile), options);
  std::string said;
  for (size_t i = notes; i < profile.meta.notes.size(); ++i)
    said += (said.empty() ? "" : "; ") + profile.meta.notes[i];
  if (had_stacks && profile.touched().empty()) throw Error("no stack is left: " + said);
  if (!said.empty()) std::cerr << "memflame: " << said << "\n";
  return profile;
}

Profile prepared(Profile profile, const Transform& transform, const RenderOptions& render) {
  const size_t notes = profile.meta.notes.size();
  const WidthOf width = resolved(render, profile).diff_width;
  if (!render.verdicts.value_or(true)) profile.marks.clear();
  profile = transformed(std::move(profile), transform, width);
  for (size_t i = notes; i < profile.meta.notes.size(); ++i)
    if (profile.meta.notes[i].starts_with("--"))
      std::cerr << "memflame: " << profile.meta.notes[i] << "\n";
  return profile;
}

void keep_colours(const Profile& profile, const RenderOptions& render) {
  if (render.colour_map.empty()) return;
  const Palette palette = palette_of(resolved(render, profile));
  const ColourMap map = extended_colour_map(palette, profile);
  if (map.size() == palette.fixed.size()) return;
  write_output(render.colour_map, [&](std::ostream& out) { out << colour_map_text(map); });
}

}  // namespace memflame
