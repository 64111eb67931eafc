// Title, captions and legend.
#include <algorithm>
#include <array>

#include "render/caption.h"
#include "render/legend.h"
#include "render/outputs/svg_parts.h"

namespace memflame {
namespace {

constexpr size_t title_lines = 2;
constexpr double bold = 1.15;  // how much wider bold letters are

constexpr std::string_view css_class(Tone tone) {
  switch (tone) {
    case Tone::figure:
      return "figure";
    case Tone::warning:
      return "warning";
    case Tone::detail:
      break;
  }
  return "detail";
}

// Lines of one text below each other; what does not fit in them is in a tooltip. Returns where the
// next text begins.
double append_block(std::string& out, const SvgPicture& picture, std::string_view kind,
                    std::string_view text, double font_size, double top, size_t limit,
                    double weight = 1) {
  uint64_t replaced = 0;
  const std::string clean = clean_text(text, replaced);
  const std::vector<std::string> lines =
      wrap(clean, font_size * weight, picture.inner_width(), limit);
  out += "<g";
  append_attribute(out, "font-size", font_size);
  out += ">";
  if (lines.size() == limit && !clean.ends_with(lines.back())) {
    out += "<title>";
    append_xml(out, clean);
    out += "</title>";
  }
  for (const std::string& line : lines) {
    append_text(out, kind, SvgPicture::margin, top + font_size, line);
    top += font_size + 6;
  }
  out += "</g>\n";
  return top;
}

double append_legend(std::string& out, const SvgPicture& picture, double top) {
  const double font = picture.options.font_size - 1;
  double x = SvgPicture::margin;
  out += "<g class=\"legend\"";
  append_attribute(out, "font-size", font);
  out += ">";
  std::vector<FrameId> frames;
  for (const Box& box : picture.layout.boxes) frames.push_back(box.frame);
  const PresentKinds present = box_kinds_of(picture.profile, frames);
  for (const auto& [colour, label] : legend(picture.palette, present, picture.difference)) {
    const double width = font + 5 + text_width(label, font) + 8;
    if (x > SvgPicture::margin && x + width > picture.options.width - SvgPicture::margin) {
      x = SvgPicture::margin;
      top += font + 8;
    }
    out += "<rect";
    append_attribute(out, "x", x);
    append_attribute(out, "y", top);
    append_attribute(out, "width", font);
    append_attribute(out, "height", font);
    append_attribute(out, "rx", 2.5);
    append_attribute(out, "fill", hex(colour));
    out += "/>";
    append_text(out, "detail", x + font + 5, top + font - 1.5, label);
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
  double y =
      append_block(out, picture, "title", title, font + 7, SvgPicture::margin, title_lines, bold) +
      2;
  for (const Caption& caption : captions(profile, picture.layout, losses))
    y = append_block(out, picture, css_class(caption.tone), caption.text, font, y,
                     caption.max_lines);
  out += "</g>\n";
  if (picture.layout.total != 0) y = append_legend(out, picture, y + 6);
  return y + 12;
}

}  // namespace memflame
