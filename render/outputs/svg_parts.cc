// SPDX-License-Identifier: BSD-2-Clause
#include "render/outputs/svg_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/units.h"
#include "render/picture/caption.h"

namespace memflame {

std::string SvgPicture::name(const Box& box) const {
  if (box.merged != 0)
    return "(+" + with_commas(box.merged) + (box.merged == 1 ? " frame, " : " frames, ") +
           brief(box.total, profile.types[profile.shown]) + ")";
  if (!box.frame) return "all";
  const std::string& text = names[profile.frames[box.frame].function];
  return text.empty() ? "(no name)" : text;
}

BoxKind SvgPicture::kind(const Box& box) const {
  if (box.merged != 0) return BoxKind::merged;
  if (!box.frame) return BoxKind::process;
  const Frame& frame = profile.frames[box.frame];
  return box_kind(profile.strings[frame.function], frame.kind);
}

Rgb SvgPicture::colour(const Box& box, std::string_view text, std::span<const int64_t> sums) const {
  if (!by_change()) {
    if (!box.frame) return palette.colour(text, kind(box));
    return palette.colour(profile, owners, profile.frames[box.frame], text);
  }
  if (!difference) {
    const auto net = static_cast<double>(sums[profile.shown]);
    return palette.change_colour(box.total == 0 ? 0 : net / static_cast<double>(box.total));
  }
  const auto before = static_cast<double>(sums[difference->before]);
  const auto after = static_cast<double>(sums[difference->after]);
  const double larger = std::max(std::fabs(before), std::fabs(after));
  return palette.change_colour(larger == 0 ? 0 : (after - before) / larger);
}

std::string_view css_class(Tone tone) {
  switch (tone) {
    case Tone::figure:
      return "figure";
    case Tone::warning:
      return "warning";
    case Tone::leak:
      return "leak";
    case Tone::detail:
      break;
  }
  return "detail";
}

double append_block(std::string& out, const TextBlock& block, std::string_view text, double top) {
  uint64_t replaced = 0;
  const std::string clean = clean_text(text, replaced);
  const std::vector<std::string> lines =
      wrap(clean, block.font_size * block.weight, block.width, block.limit);
  out += "<g";
  append_attribute(out, "font-size", block.font_size);
  out += ">";
  if (lines.size() == block.limit && !clean.ends_with(lines.back())) {
    out += "<title>";
    append_xml(out, clean);
    out += "</title>";
  }
  for (const std::string& line : lines) {
    append_text(out, block.css_class, SvgPicture::margin, top + block.font_size, line);
    top += block.font_size + 6;
  }
  out += "</g>\n";
  return top;
}

std::string dark_colours(const Palette& palette) {
  const std::string stop = "  .memflame:where(:not([data-ground])) .";
  return "@media (prefers-color-scheme: dark) {\n" + stop +
         "top { stop-color: " + hex(palette.dark_background[0]) + "; }\n" + stop +
         "bottom { stop-color: " + hex(palette.dark_background[1]) + "; }\n}\n";
}

// Pictures in one page share a gradient's name only if they share its colours, light and dark.
void append_background(std::string& out, const Palette& palette, bool given) {
  std::string id = given ? "memflame-ground" : "memflame-background";
  for (const Rgb colour : palette.background) id += "-" + hex(colour).substr(1);
  out += "<defs><linearGradient id=\"" + id + "\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"1\">";
  out += "<stop class=\"top\" offset=\"0\"";
  append_attribute(out, "stop-color", hex(palette.background[0]));
  out += "/><stop class=\"bottom\" offset=\"1\"";
  append_attribute(out, "stop-color", hex(palette.background[1]));
  out +=
      "/></linearGradient></defs>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"url(#" +
      id + ")\"/>\n";
}

void append_px(std::string& out, double value) {
  std::array<char, 32> text{};
  // The shortest text of a number with two decimals has no more than those.
  const double rounded = std::round(value * 100) / 100;
  const std::to_chars_result end =
      std::to_chars(text.data(), text.data() + text.size(), rounded, std::chars_format::fixed);
  out.append(text.data(), end.ptr);
}

void append_attribute(std::string& out, std::string_view name, double value) {
  ((out += ' ') += name) += "=\"";
  append_px(out, value);
  out += '"';
}

void append_attribute(std::string& out, std::string_view name, std::string_view value) {
  ((out += ' ') += name) += "=\"";
  append_xml(out, value);
  out += '"';
}

void append_text(std::string& out, std::string_view css_class, double x, double y,
                 std::string_view text) {
  out += "<text";
  if (!css_class.empty()) append_attribute(out, "class", css_class);
  append_attribute(out, "x", x);
  append_attribute(out, "y", y);
  out += '>';
  append_xml(out, text);
  out += "</text>";
}

}  // namespace memflame
