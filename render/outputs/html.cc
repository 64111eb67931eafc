// SPDX-License-Identifier: BSD-2-Clause
// The whole profile as one page that needs nothing else: every frame is in it, however narrow, and
// viewer/ draws the visible part. Its only script and only style are the same in every page, so
// that a policy can name them (docs/pictures.md). Foreign text (names, titles, notes) is text, or
// JSON and base64 in elements that no browser runs.
#include <algorithm>
#include <utility>

#include "core/difference.h"
#include "core/error.h"
#include "render/order/source_lines.h"
#include "render/output.h"
#include "render/picture/assets.h"
#include "render/picture/blame.h"
#include "render/picture/callers_first.h"
#include "render/picture/caption.h"
#include "render/picture/code_shares.h"
#include "render/picture/data_block.h"
#include "render/picture/folded_runtime.h"
#include "render/picture/layout.h"
#include "render/picture/leak_paths.h"
#include "render/picture/legend.h"
#include "render/picture/page_parts.h"

namespace memflame {
namespace {

// What asks for attention is always in sight; the rest unfolds.
void append_captions(std::string& out, const std::vector<Caption>& all) {
  const auto is_urgent = [](const Caption& caption) {
    return caption.tone == Tone::leak || caption.tone == Tone::warning;
  };
  if (!std::ranges::all_of(all, is_urgent)) {
    out += "<details class=\"mf-fold\"><summary>Details</summary>\n";
    for (const Caption& caption : all)
      if (!is_urgent(caption)) append_caption(out, caption);
    out += "</details>\n";
  }
  out += "<div class=\"mf-urgent\">\n";
  for (const Caption& caption : all)
    if (is_urgent(caption)) append_caption(out, caption);
  out += "</div>\n";
}

// One line: the figure, and whose it is. A title that the user chose comes before them.
void append_headline(std::string& out, const Headline& line, const std::string& chosen_title) {
  if (chosen_title.empty()) {
    append_element(out, "<h1>", line.figure, "</h1>");
    append_element(out, "<p class=\"mf-run\">", line.run, "</p>");
  } else {
    append_element(out, "<h1>", chosen_title, "</h1>");
    append_element(out, "<p class=\"mf-run\">", line.figure + " · " + line.run, "</p>");
  }
}

std::string head(const DataSource& source, const FrameTree& tree, const CodeShares& shares,
                 const CallersFirst& first, const std::string& chosen_title) {
  const Profile& profile = source.profile;
  // This layout is only for the captions, which need its sums and processes; the page itself has
  // every frame.
  const Layout sums = layout(tree, profile, {.max_depth = 3, .width = source.options.diff_width});
  Losses losses = profile.losses;
  losses.add(Loss::replaced_bytes, source.names.replaced);
  std::string out = "<header class=\"mf-head\">\n";
  append_headline(out, headline(profile, sums, losses), chosen_title);
  if (!source.options.subtitle.empty())
    append_element(out, "<p class=\"subtitle\">", source.options.subtitle, "</p>");
  const Blame blame = *source.options.blame;
  const std::string hidden =
      first.note() + blame_note(hidden_functions(tree, profile, source.options), blame, true);
  append_captions(out, captions(profile, sums, losses, hidden));
  const WidthOf width = source.options.diff_width;
  const bool by_change = difference_of(profile) || width == WidthOf::size;
  out += "<div class=\"mf-legends\">\n";
  append_legend(out, "owners", code_legend(profile, source.palette, shares));
  std::vector<LegendEntry> colours = legend(profile, source.palette, tree.frame, by_change);
  for (LegendEntry& entry : leak_legend(profile)) colours.push_back(std::move(entry));
  append_legend(out, "colours", colours);
  out += "</div>\n</header>\n";
  return out;
}

void draw_html(std::ostream& out, const Profile& given, const RenderOptions& wanted) {
  RenderOptions options = resolved(wanted, given);
  if (!options.script)
    throw Error("a page is drawn by its script; a picture without one is an SVG", ExitCode::usage);
  const CodeShares shares =
      code_shares(given, width_of(given, options.diff_width), {*options.blame, options.reversed});
  const FoldedRuntime runtime(given, options);
  const CallersFirst first(runtime.whole(), options);
  const Profile& profile = first.profile();
  const Palette palette = palette_of(options);
  const CleanStrings names = clean_strings(profile);
  const DataSource source{profile, options, palette, names};
  // The script sorts by width itself.
  const Neighbours order =
      options.order == Neighbours::by_time ? Neighbours::by_time : Neighbours::by_name;
  FrameTree tree =
      frame_tree(profile, order, width_of(profile, options.diff_width), LineNodes::apart);
  const std::string title =
      options.title.empty() ? default_title(profile, options.icicle) : options.title;

  std::string page;
  if (!options.fragment)
    page = page_begin(title, {.script = "viewer.js", .style = "page_all.css", .body = "mf-page"});
  page += "<div class=\"memflame\"";
  if (!options.fragment) page += " data-alone=\"1\"";
  if (const std::string_view ground = ground_of(options); !ground.empty())
    ((page += " data-ground=\"") += ground) += '"';
  page += ">\n";
  // Embedded in another page, the graph brings its own style.
  if (options.fragment) ((page += "<style>") += asset("page_all.css")) += "</style>\n";
  page +=
      head(source, tree, shares, first, options.title.empty() ? profile.meta.title : options.title);
  DataNodes nodes = data_nodes(std::move(tree), profile);
  nodes.native = runtime.native();
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
