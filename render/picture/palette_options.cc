// SPDX-License-Identifier: BSD-2-Clause
// The options on colours.
#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include "core/error.h"
#include "render/picture/palette.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

struct Background {
  std::string_view name;
  std::array<Rgb, 2> colours;  // from top to bottom
};
constexpr std::array backgrounds{
    Background{"yellow", {Rgb{0xf7, 0xf7, 0xf0}, Rgb{0xf2, 0xf2, 0xc0}}},
    Background{"blue", {Rgb{0xf2, 0xf3, 0xf7}, Rgb{0xe0, 0xe3, 0xff}}},
    Background{"green", {Rgb{0xf2, 0xf7, 0xf2}, Rgb{0xe0, 0xfb, 0xe0}}},
    Background{"grey", {Rgb{0xf8, 0xf8, 0xf8}, Rgb{0xe8, 0xe8, 0xe8}}},
};

std::array<Rgb, 2> background_of(const std::string& text) {
  for (const Background& known : backgrounds)
    if (known.name == text) return known.colours;
  unsigned value = 0;
  const char* end = text.data() + text.size();
  const bool hexadecimal = text.size() == 7 && text[0] == '#' &&
                           std::from_chars(text.data() + 1, end, value, 16).ptr == end;
  if (!hexadecimal)
    throw Error("the background '" + text + "' is not one of yellow, blue, green, grey and #rrggbb",
                ExitCode::usage);
  const Rgb colour{static_cast<uint8_t>(value >> 16U), static_cast<uint8_t>(value >> 8U),
                   static_cast<uint8_t>(value)};
  if (contrast(colour, Rgb{}) < 7)
    throw Error("text is not readable on the background " + text + ": name a lighter colour",
                ExitCode::usage);
  return {colour, colour};
}

// "rgb(205,92,3)"; false if it is something else.
bool parse_rgb(std::string_view text, Rgb& colour) {
  if (!text.starts_with("rgb(") || !text.ends_with(')')) return false;
  text = text.substr(4, text.size() - 5);
  for (uint8_t* channel : {&colour.red, &colour.green, &colour.blue}) {
    const std::string_view number = text.substr(0, text.find(','));
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), *channel);
    if (error != std::errc{} || end != number.data() + number.size()) return false;
    text.remove_prefix(std::min(number.size() + 1, text.size()));
  }
  return text.empty();
}

}  // namespace

ColourMap read_colour_map(const std::string& path) {
  ColourMap map;
  std::ifstream file(path, std::ios::binary);
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const size_t arrow = line.rfind("->");
    Rgb colour;
    if (arrow == std::string::npos || !parse_rgb(std::string_view(line).substr(arrow + 2), colour))
      throw Error(path + ": line " + std::to_string(number) +
                      " is not a palette map entry: name->rgb(205,92,3)",
                  ExitCode::usage);
    map.insert_or_assign(line.substr(0, arrow), colour);
  }
  return map;
}

std::string colour_map_text(const ColourMap& map) {
  std::string text;
  for (const auto& [name, colour] : map)
    text += name + "->rgb(" + std::to_string(colour.red) + "," + std::to_string(colour.green) +
            "," + std::to_string(colour.blue) + ")\n";
  return text;
}

ColourMap extended_colour_map(const Palette& palette, const Profile& profile) {
  ColourMap map = palette.fixed;
  const CodeOwners owners(profile);
  for (uint32_t i = 1; i < profile.frames.size(); ++i) {
    const Frame& frame = profile.frames[FrameId{i}];
    uint64_t replaced = 0;
    const std::string name = clean_text(profile.strings[frame.function], replaced);
    if (name.empty() || map.contains(name)) continue;
    if (box_kind(name, frame.kind) == BoxKind::lost) continue;
    map.emplace(name, palette.colour(profile, owners, frame, name));
  }
  return map;
}

std::string_view ground_of(const RenderOptions& options) {
  // At a contrast of 15 with black, the grey and the red of light pictures have 4.5.
  constexpr double light = 15;
  if (options.background.empty()) return "";
  const std::array<Rgb, 2> colours = background_of(options.background);
  return std::min(contrast(colours[0], {}), contrast(colours[1], {})) >= light ? "light" : "mid";
}

Palette palette_of(const RenderOptions& options) {
  Palette palette = palette_by_name(options.palette.empty() ? "code" : options.palette);
  if (!options.background.empty()) palette.background = background_of(options.background);
  if (!options.colour_map.empty()) palette.fixed = read_colour_map(options.colour_map);
  if (options.negate && palette.change) std::swap(palette.change->front(), palette.change->back());
  return palette;
}

}  // namespace memflame
