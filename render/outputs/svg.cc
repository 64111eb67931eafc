// SPDX-License-Identifier: BSD-2-Clause
// The flame graph as one file: SVG 1.1 that can be read and printed as it is, and a script
// (viewer/) that adds interaction if scripts may run. Foreign text (names, titles, notes) is only
// ever text or an attribute's value, never part of a script or a style.
#include <algorithm>
#include <future>

#include "render/order/source_lines.h"
#include "render/output.h"
#include "render/outputs/svg_parts.h"
#include "render/picture/assets.h"
#include "render/picture/blame.h"
#include "render/picture/callers_first.h"
#include "render/picture/caption.h"
#include "render/picture/data_block.h"
#include "render/picture/folded_runtime.h"

namespace memflame {
namespace {

// Room for the script's controls.
constexpr double bar_height(const RenderOptions& options) { return options.script ? 68 : 0; }

// Colours that depend on the palette. Its values are parsed numbers, so nothing needs escaping.
std::string colours(const Palette& palette, const RenderOptions& options) {
  std::string font;
  // Its letters are checked (check_render_options).
  if (!options.font.empty())
    font = ".memflame, .memflame .frames text { font-family: " + options.font + ", sans-serif; }\n";
  // A background that the user chose is also used in dark mode.
  if (!options.background.empty()) return font;
  return font + dark_colours(palette);
}

// The root element with what the script needs, and a description for readers who cannot see it.
void append_root(std::string& out, const SvgPicture& picture, double head, double height) {
  std::string view = "0 0 " + std::to_string(picture.options.width) + " ";
  append_px(view, height);
  if (!picture.options.fragment) out += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" class=\"memflame\"";
  append_attribute(out, "width", picture.options.width);
  append_attribute(out, "height", height);
  append_attribute(out, "viewBox", view);
  append_attribute(out, "font-size", picture.options.font_size);
  append_attribute(out, "role", "graphics-document");
  if (const std::string_view ground = ground_of(picture.options); !ground.empty())
    append_attribute(out, "data-ground", ground);
  append_attribute(out, "data-margin", SvgPicture::margin);
  append_attribute(out, "data-head", head);
  append_attribute(out, "data-bar", bar_height(picture.options));
  out += ">\n<title>";
  uint64_t replaced = 0;
  append_xml(out, clean_text(picture.options.title.empty()
                                 ? default_title(picture.profile, picture.options.icicle)
                                 : picture.options.title,
                             replaced));
  out +=
      "</title>\n<desc>Boxes are functions; the width of each is its share of the total, and each "
      "box lies within the width of its caller.</desc>\n<style>\n";
  out += asset(picture.options.script ? "picture_all.css" : "picture.css");
  out += colours(picture.palette, picture.options);
  out += "</style>\n";
}

// The data in the file, for the script to zoom to: more frames than are drawn at once, and narrower
// ones, and what the allocator has on them. Data cost a browser a hundredth of what the same number
// of elements would.
LayoutOptions behind(LayoutOptions at_once, std::vector<bool> attached) {
  constexpr size_t more = 5;
  at_once.max_boxes = at_once.max_boxes > SIZE_MAX / more ? SIZE_MAX : at_once.max_boxes * more;
  at_once.min_share = 0;
  at_once.attached = std::move(attached);
  return at_once;
}

// With a script, the file has half the requested boxes. The script replaces them by the requested
// number; reading that many from the file would take a browser longer than drawing them.
LayoutOptions below_script(LayoutOptions at_once) {
  at_once.max_boxes -= at_once.max_boxes / 2;
  return at_once;
}

// The script's data: the frames that are kept, the figures of functions that these do not
// determine, and the facts about the profile.
void append_script(std::string& out, const DataSource& source, const FrameTree& tree,
                   const Layout& kept, FrameId native) {
  DataNodes nodes = data_nodes(kept, tree, source.profile);
  nodes.native = native;
  if (!nodes.merged.empty())
    nodes.functions = function_figures(tree, nodes, source.profile, source.options);
  out += "<metadata class=\"mf-about\">" + about_json(source, nodes);
  out += "</metadata>\n<metadata class=\"mf-data\">\n";
  append_data(out, source, nodes);
  if (!nodes.lines.empty()) {
    out += "</metadata>\n<metadata class=\"mf-lines\">\n";
    append_lines(out, source, nodes);
  }
  ((out += "</metadata>\n<script><![CDATA[\n") += asset("viewer.js")) += "]]></script>\n";
}

struct OfAllFrames {
  CleanStrings names;
  CodeShares shares;
};

void draw_svg(std::ostream& out, const Profile& given, const RenderOptions& wanted) {
  RenderOptions options = resolved(wanted, given);
  const Shares of{*options.blame, options.reversed};
  const FoldedRuntime runtime(given, options);
  RenderOptions of_all = options;
  const CallersFirst first(runtime.drawn(), options), behind_it(runtime.whole(), of_all);
  const Profile &profile = first.profile(), &all = behind_it.profile();
  const Palette palette = palette_of(options);
  // Takes about as long as finding the boxes, so another thread does it meanwhile.
  const auto launch = options.threads > 1 ? std::launch::async : std::launch::deferred;
  std::future<OfAllFrames> told = std::async(launch, [&] {
    return OfAllFrames{clean_strings(profile),
                       code_shares(given, width_of(given, options.diff_width), of)};
  });
  const double inner_width = options.width - 2 * SvgPicture::margin;
  const LayoutOptions at_once{
      .min_share =
          std::max(options.min_width.value_or(RenderOptions::usual_min_width) / inner_width,
                   options.min_percent / 100),
      .max_depth = options.max_depth,
      .max_boxes = options.max_boxes,
      .order = options.order,
      .width = options.diff_width};
  const auto tree_of = [&](const Profile& one) {
    return frame_tree(one, options.order, width_of(one, options.diff_width));
  };
  const bool folds = options.script && runtime.hides();
  const Profile& kept_profile = folds ? all : profile;
  const FrameTree tree = tree_of(kept_profile);
  const FrameTree folded = folds ? tree_of(profile) : FrameTree{};
  const Layout kept =
      layout(tree, kept_profile,
             options.script ? behind(at_once, allocator_nodes(tree, kept_profile)) : at_once);
  const FrameTree& shown = folds ? folded : tree;
  const BlamedTree blamed = blamed_tree(shown, profile, options);
  const bool hides = blamed.functions != 0 || folds;
  const FrameTree& drawn = blamed.functions != 0 ? blamed.tree : shown;
  const LayoutOptions at_first = options.script ? below_script(at_once) : at_once;
  Layout boxes =
      hides ? layout(drawn, profile, at_first) : with_fewer_boxes(kept, profile, at_first);
  if (hides) take_counts(boxes, kept);
  const auto [names, shares] = told.get();
  SvgPicture picture{profile, options, palette, names, boxes, shares, drawn.lines};
  picture.difference = difference_of(profile);
  picture.hidden = first.note() + blame_note(blamed.functions, *options.blame, options.script);
  picture.verdicts = verdict_lines(boxes, drawn, profile);
  const LeakPaths leaks = leak_paths(boxes, drawn, profile);

  std::string head;
  // Flags have a row of their own beyond the boxes.
  const double flags = leaks.flags.empty() ? 0 : picture.row_height();
  const double head_end = write_svg_head(head, picture);
  const double top = head_end + (options.icicle ? 0 : flags);
  const double bottom = top + picture.row_height() * std::max<uint32_t>(boxes.depth, 4) +
                        (options.icicle ? flags : 0);
  std::string text;
  std::string details;
  const double end = write_svg_details(details, picture, bottom + SvgPicture::margin);
  append_root(text, picture, head_end,
              std::max(end, bottom) + SvgPicture::margin + bar_height(options));
  append_background(text, palette, !options.background.empty());
  out << text << head;
  if (boxes.total == 0) {
    out << "<text class=\"nothing\" x=\"50%\" y=\"" << top + 2 * picture.row_height()
        << "\">nothing was captured</text>\n"
        << details << "</svg>\n";
    return;
  }
  out << "<g class=\"frames\">\n";
  write_svg_rows(out, picture, top);
  std::string script;
  append_svg_marks(script, picture, leaks, top);
  script += "</g>\n" + details;
  if (options.script)
    append_script(script, {kept_profile, options, palette, names}, tree, kept, runtime.native());
  out << script << "</svg>\n";
}

}  // namespace

void write_svg(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  if (options.lines)
    draw_svg(out, with_lines_in_names(profile), options);
  else
    draw_svg(out, profile, options);
}

}  // namespace memflame
