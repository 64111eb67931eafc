// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/looks.h"

#include <nlohmann/json.hpp>

namespace memflame {

using Json = nlohmann::ordered_json;

std::string_view width_id(WidthOf width) {
  const bool plain = width == WidthOf::shown || width == WidthOf::size;
  return word_for<WidthOf>(width_words, plain ? WidthOf::larger : width);
}

Json looks_json(const DataSource& source, const DataNodes& nodes) {
  const RenderOptions& options = source.options;
  Json about = Json::object();
  uint64_t replaced = 0;
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) about[key] = clean_text(value, replaced);
  };
  if (options.elide != Elide::right) about["elide"] = word_for<Elide>(elide_words, options.elide);
  about["boxes"] = options.max_boxes;
  if (options.min_width) about["least"] = *options.min_width;
  if (options.min_percent > 0) about["leastPercent"] = options.min_percent;
  if (options.row_height != 0) about["rowHeight"] = options.row_height;
  text("font", options.font);
  text("nameType", options.name_type);
  if (!options.background.empty())
    about["background"] = {hex(source.palette.background[0]), hex(source.palette.background[1])};
  if (options.attributes.empty()) return about;
  for (const FrameId frame : nodes.frame) {
    if (!frame) continue;
    const std::string& name = source.names[source.profile.frames[frame].function];
    const auto found = options.attributes.find(name);
    if (found == options.attributes.end() || about["attributes"].contains(name)) continue;
    about["attributes"][name] = {{"href", found->second.href}, {"title", found->second.title}};
  }
  return about;
}

}  // namespace memflame
