// SPDX-License-Identifier: BSD-2-Clause
// The whole profile as one page that needs nothing else: every frame is in it, however narrow, and
// viewer/ draws the visible part. Its only script and only style are the same in every page, so
// that a policy can name them (docs/pictures.md). Foreign text (names, titles, notes) is text, or
// JSON and base64 in elements that no browser runs.
#include <array>
#include <utility>

#include "core/difference.h"
#include "core/error.h"
#include "render/order/source_lines.h"
#include "render/output.h"
#include "render/picture/assets.h"
#include "render/picture/caption.h"
#include "render/picture/data_block.h"
#include "render/picture/layout.h"
#include "render/picture/leak_paths.h"
#include "render/picture/legend.h"

namespace memflame {
namespace {

void append_element(std::string& out, std::string_view begin, std::string_view text,
                    std::string_view end) {
  uint64_t replaced = 0;
  out += begin;
  append_xml(out, clean_text(text, replaced));
  (out += end) += '\n';
}

constexpr std::string_view paragraph(Tone tone) {
  switch (tone) {
    case Tone::figure:
      return "<p>";
    case Tone::warning:
      return "<p class=\"warning\">";
    case Tone::leak:
      return "<p class=\"leak\">";
    case Tone::detail:
      break;
  }
  return "<p class=\"detail\">";
}

// Colours are attributes, not styles, because a strict policy forbids inline styles.
void append_legend(std::string& out, std::string_view label,
                   const std::vector<LegendEntry>& entries) {
  if (entries.empty()) return;
  ((out += "<ul class=\"mf-legend\" aria-label=\"") += label) += "\">\n";
  for (const LegendEntry& entry : entries) {
    out += "<li";
    if (!entry.tooltip.empty()) {
      out += " title=\"";
      append_xml(out, entry.tooltip);
      out += '"';
    }
    out += '>';
    if (entry.colour)
      out += "<svg aria-hidden=\"true\"><rect width=\"11\" height=\"11\" rx=\"2.5\" fill=\"" +
             hex(*entry.colour) + "\"/></svg>";
    append_xml(out, entry.label);
    out += "</li>\n";
  }
  out += "</ul>\n";
}

std::string head(const DataSource& source, const FrameTree& tree, const std::string& title) {
  const Profile& profile = source.profile;
  // This layout is only for the captions, which need its sums; the page itself has every frame.
  const Layout sums = layout(tree, profile, {.min_share = 2, .width = source.options.diff_width});
  Losses losses = profile.losses;
  losses.add(Loss::replaced_bytes, source.names.replaced);
  std::string out = "<header class=\"mf-head\">\n";
  append_element(out, "<h1>", title, "</h1>");
  if (!source.options.subtitle.empty())
    append_element(out, "<p class=\"subtitle\">", source.options.subtitle, "</p>");
  for (const Caption& caption : captions(profile, sums, losses))
    append_element(out, paragraph(caption.tone), caption.text, "</p>");
  const WidthOf width = source.options.diff_width;
  const bool by_change = difference_of(profile) || width == WidthOf::size;
  append_legend(
      out, "owners",
      owner_legend(profile, source.palette, owner_shares(profile, width_of(profile, width))));
  std::vector<LegendEntry> colours = legend(profile, source.palette, tree.frame, by_change);
  for (LegendEntry& entry : leak_legend(profile)) colours.push_back(std::move(entry));
  append_legend(out, "colours", colours);
  out += "</header>\n";
  return out;
}

std::string page_begin(const std::string& title) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"generator\" content=\"memflame\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
      page_policy() + "\">\n";
  append_element(page, "<title>", title, "</title>");
  ((page += "<style>") += asset("page_all.css")) += "</style>\n</head>\n<body class=\"mf-page\">\n";
  return page;
}

void draw_html(std::ostream& out, const Profile& profile, const RenderOptions& wanted) {
  const RenderOptions options = resolved(wanted, profile);
  if (!options.script)
    throw Error("a page is drawn by its script; a picture without one is an SVG", ExitCode::usage);
  const Palette palette = palette_of(options);
  const CleanStrings names = clean_strings(profile);
  const DataSource source{profile, options, palette, names};
  // The script sorts by width itself.
  const Neighbours order =
      options.order == Neighbours::by_time ? Neighbours::by_time : Neighbours::by_name;
  FrameTree tree = frame_tree(profile, order, width_of(profile, options.diff_width));
  const std::string title =
      options.title.empty() ? default_title(profile, options.icicle) : options.title;

  std::string page;
  if (!options.fragment) page = page_begin(title);
  page += "<div class=\"memflame\"";
  if (!options.fragment) page += " data-alone=\"1\"";
  if (const std::string_view ground = ground_of(options); !ground.empty())
    ((page += " data-ground=\"") += ground) += '"';
  page += ">\n";
  // Embedded in another page, the graph brings its own style.
  if (options.fragment) ((page += "<style>") += asset("page_all.css")) += "</style>\n";
  page += head(source, tree, title);
  const DataNodes nodes = data_nodes(std::move(tree), profile);
  page += options.fragment ? "<div class=\"mf-app\"></div>\n" : "<main class=\"mf-app\"></main>\n";
  page += "<noscript>The graph is drawn by the script in this file.</noscript>\n";
  page += "<script type=\"application/json\" class=\"mf-about\">" + about_json(source, nodes);
  page += "</script>\n<script type=\"text/plain\" class=\"mf-data\">\n";
  append_data(page, source, nodes);
  if (!nodes.lines.empty()) {
    page += "</script>\n<script type=\"text/plain\" class=\"mf-lines\">\n";
    append_lines(page, source, nodes);
  }
  ((page += "</script>\n<script>") += asset("viewer.js")) += "</script>\n</div>\n";
  if (!options.fragment) page += "</body>\n</html>\n";
  out << page;
}

}  // namespace

void write_html(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  if (options.lines)
    draw_html(out, with_lines_in_names(profile), options);
  else
    draw_html(out, profile, options);
}

}  // namespace memflame
