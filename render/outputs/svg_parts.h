// SPDX-License-Identifier: BSD-2-Clause
// The parts of an SVG picture, from top to bottom, as svg.cc puts them together.
#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/difference.h"
#include "core/profile.h"
#include "render/picture/caption.h"
#include "render/picture/code_shares.h"
#include "render/picture/layout.h"
#include "render/picture/leak_paths.h"
#include "render/picture/options.h"
#include "render/picture/palette.h"
#include "render/text/clean_text.h"

namespace memflame {

// What all parts of one picture need.
struct SvgPicture {
  const Profile& profile;
  const RenderOptions& options;
  const Palette& palette;
  const CleanStrings& names;
  const Layout& layout;
  const CodeShares& shares;
  const NodeLines& lines;  // by Box::node
  std::optional<Difference> difference{};
  std::vector<std::string> verdicts{};  // lines of tooltips, by box; empty: there are none
  std::string hidden{};                 // whose frames are not drawn: blame_note()
  CodeOwners owners{profile};

  static constexpr double margin = 12;  // px on each side
  double inner_width() const { return options.width - 2 * margin; }
  double row_height() const { return memflame::row_height(options); }
  // Whether boxes are coloured by their change, or by the sign of their values.
  bool by_change() const { return palette.change && (difference || layout.width == WidthOf::size); }

  // The name of a box, and its colour; `name` needs escaping.
  std::string name(const Box& box) const;
  BoxKind kind(const Box& box) const;
  Rgb colour(const Box& box, std::string_view name, std::span<const int64_t> sums) const;
};

// Title, the line of the run, what asks for attention, and the legend; all that is known is in a
// tooltip. Returns where the boxes begin, in px.
double write_svg_head(std::string& out, const SvgPicture& picture);

// In a picture without a script, what the head left out: it may be printed. Returns its end, in px.
double write_svg_details(std::string& out, const SvgPicture& picture, double top);

// Lines of one text below each other, at most `limit`; what does not fit is in a tooltip. Returns
// where the next text begins.
struct TextBlock {
  std::string_view css_class;
  double font_size = 12, width = 0;
  size_t limit = 1;
  double weight = 1;  // how much wider the letters are than usual ones
};
double append_block(std::string& out, const TextBlock& block, std::string_view text, double top);

// "detail", "figure", "warning", "leak"
std::string_view css_class(Tone tone);

// What dark mode changes, as a style.
std::string dark_colours(const Palette& palette);

// A rectangle behind everything. `given`: the user chose the colours.
void append_background(std::string& out, const Palette& palette, bool given);

// One <g class="row"> per level, the first box at `top`.
void write_svg_rows(std::ostream& out, const SvgPicture& picture, double top);

// What points out leaks. `top`: of the rows.
void append_svg_marks(std::string& out, const SvgPicture& picture, const LeakPaths& paths,
                      double top);

// At most two decimals: a hundredth of a pixel is invisible.
void append_px(std::string& out, double value);

// ` name="value"`
void append_attribute(std::string& out, std::string_view name, double value);
void append_attribute(std::string& out, std::string_view name, std::string_view value);

// <text class="…" x="…" y="…">…</text>; escapes `text`. No class if it is empty.
void append_text(std::string& out, std::string_view css_class, double x, double y,
                 std::string_view text);

}  // namespace memflame
