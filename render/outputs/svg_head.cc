// SPDX-License-Identifier: BSD-2-Clause
// Title, captions and legend.
#include <algorithm>
#include <array>
#include <utility>

#include "core/units.h"
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

std::vector<Caption> all_captions(const SvgPicture& picture) {
  Losses losses = picture.profile.losses;
  losses.add(Loss::replaced_bytes, picture.names.replaced);
  return captions(picture.profile, picture.layout, losses);
}

// The first line, and the line below it.
struct SvgTitle {
  std::string text, run;
};

// "server" of "heaptrack ./server --port 80", which is of heaptrack; else the profile's own title.
std::string subject(const Meta& meta) {
  if (meta.title.empty() || !meta.command.starts_with(meta.title + " ")) return meta.title;
  std::string program = meta.command.substr(meta.title.size() + 1);
  program = program.substr(0, program.find(' '));
  if (program.empty() || program.starts_with('-') || program.ends_with('/')) return meta.title;
  return program.substr(program.rfind('/') + 1);
}

// "live 4.3 MiB · server", "server · 12.0 s · lost 0": the figure comes first, unless the user
// chose a title.
SvgTitle svg_title(const SvgPicture& picture) {
  const Profile& profile = picture.profile;
  Losses losses = profile.losses;
  losses.add(Loss::replaced_bytes, picture.names.replaced);
  const Headline line = headline(profile, picture.layout, losses);
  SvgTitle title{.text = picture.options.title, .run = line.run};
  if (!title.text.empty())
    title.run = line.figure + " · " + line.run;
  else
    title.text = line.figure + (profile.meta.title.empty() ? "" : " · " + subject(profile.meta));
  title.run += " · " + with_commas(static_cast<int64_t>(picture.layout.stacks)) +
               (picture.layout.stacks == 1 ? " stack" : " stacks");
  const LossCount cut = losses.sum(LossKind::cut);
  if (cut.events != 0)
    title.run +=
        " · " + with_commas(static_cast<int64_t>(cut.events)) + have_cut_stacks(cut.events);
  if (!profile.meta.sampling.empty()) title.run += " · estimated from samples";
  return title;
}

// All that is known, for a tooltip and for readers of the file.
void append_details(std::string& out, const std::string& title, const std::vector<Caption>& all) {
  uint64_t replaced = 0;
  append_xml(out, clean_text(title, replaced));
  for (const Caption& caption : all) {
    out += '\n';
    append_xml(out, clean_text(caption.text, replaced));
  }
}

}  // namespace

double write_svg_head(std::string& out, const SvgPicture& picture) {
  const Profile& profile = picture.profile;
  const double font = picture.options.font_size;
  const std::vector<Caption> all = all_captions(picture);
  const SvgTitle title = svg_title(picture);
  out += "<g class=\"head\">\n<title>";
  append_details(out, title.text, all);
  out += "</title>\n";
  const double width = picture.inner_width();
  double y = append_block(out, {"title", font + 7, width, title_lines, bold_letters}, title.text,
                          SvgPicture::margin) +
             2;
  if (!picture.options.subtitle.empty())
    y = append_block(out, {"subtitle", font + 2, width, title_lines}, picture.options.subtitle, y);
  y = append_block(out, {"figure", font, width, 1}, title.run, y);
  if (!picture.hidden.empty()) y = append_block(out, {"detail", font, width, 1}, picture.hidden, y);
  for (const Caption& caption : all)
    if (caption.tone == Tone::leak || caption.tone == Tone::warning)
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

double write_svg_details(std::string& out, const SvgPicture& picture, double top) {
  if (picture.options.script) return top;
  const double font = picture.options.font_size - 2;
  out += "<g class=\"details\">\n";
  for (const Caption& caption : all_captions(picture))
    if (caption.tone == Tone::detail || caption.tone == Tone::figure)
      top = append_block(out, {"detail", font, picture.inner_width(), caption.max_lines},
                         caption.text, top);
  out += "</g>\n";
  return top;
}

}  // namespace memflame
