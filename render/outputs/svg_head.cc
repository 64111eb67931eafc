// SPDX-License-Identifier: BSD-2-Clause
// Title, captions and legend.
#include <algorithm>
#include <array>
#include <utility>

#include "render/outputs/svg_parts.h"
#include "render/picture/caption.h"
#include "render/picture/legend.h"

namespace memflame {
namespace {

constexpr size_t title_lines = 2;
constexpr double bold_letters = 1.15;

void append_swatch(std::string& out, double x, double y, double size, Rgb colour) {
  out += "<rect";
  append_attribute(out, "x", x);
  append_attribute(out, "y", y);
  append_attribute(out, "width", size);
  append_attribute(out, "height", size);
  append_attribute(out, "rx", 2.5);
  append_attribute(out, "fill", hex(colour));
  out += "/>";
}

double append_legend(std::string& out, const SvgPicture& picture, double top,
                     const std::vector<LegendEntry>& entries) {
  const double font = picture.options.font_size - 1;
  double x = SvgPicture::margin;
  out += "<g class=\"legend\"";
  append_attribute(out, "font-size", font);
  out += ">";
  for (const auto& [colour, label, tooltip] : entries) {
    const double swatch = colour ? font + 5 : 0;
    const double width = swatch + text_width(label, font) + 8;
    if (x > SvgPicture::margin && x + width > picture.options.width - SvgPicture::margin) {
      x = SvgPicture::margin;
      top += font + 8;
    }
    if (!tooltip.empty()) {
      out += "<g><title>";
      append_xml(out, tooltip);
      out += "</title>";
    }
    if (colour) append_swatch(out, x, top, font, *colour);
    append_text(out, "detail", x + swatch, top + font - 1.5, label);
    if (!tooltip.empty()) out += "</g>";
    x += width;
  }
  out += "</g>\n";
  return top + font;
}

}  // namespace

double write_svg_head(std::string& out, const SvgPicture& picture) {
  const Profile& profile = picture.profile;
  const double font = picture.options.font_size;
  const std::string title = picture.options.title.empty()
                                ? default_title(profile, picture.options.icicle)
                                : picture.options.title;
  Losses losses = profile.losses;
  losses.add(Loss::replaced_bytes, picture.names.replaced);
  out += "<g class=\"head\">\n";
  const double width = picture.inner_width();
  double y = append_block(out, {"title", font + 7, width, title_lines, bold_letters}, title,
                          SvgPicture::margin) +
             2;
  if (!picture.options.subtitle.empty())
    y = append_block(out, {"subtitle", font + 2, width, title_lines}, picture.options.subtitle, y);
  for (const Caption& caption : captions(profile, picture.layout, losses))
    y = append_block(out,
                     {css_class(caption.tone), font, width, caption.max_lines,
                      caption.tone == Tone::leak ? bold_letters : 1},
                     caption.text, y);
  out += "</g>\n";
  if (picture.layout.total == 0) return y + 12;
  std::vector<FrameId> frames;
  for (const Box& box : picture.layout.boxes) frames.push_back(box.frame);
  y = append_legend(out, picture, y + 6, code_legend(profile, picture.palette, picture.shares));
  std::vector<LegendEntry> colours = legend(profile, picture.palette, frames, picture.by_change());
  for (LegendEntry& entry : leak_legend(profile)) colours.push_back(std::move(entry));
  if (!colours.empty()) y = append_legend(out, picture, y + 8, colours);
  return y + 12;
}

}  // namespace memflame
