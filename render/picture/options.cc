// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/options.h"

#include <algorithm>

#include "core/difference.h"
#include "core/error.h"
#include "core/inner_frame.h"
#include "render/picture/palette.h"

namespace memflame {
namespace {

// Only these, because the names become part of a style.
constexpr std::string_view font_letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,-_";

}  // namespace

void check_render_options(const RenderOptions& options) {
  const auto require = [](bool good, const char* what) {
    if (!good) throw Error(what, ExitCode::usage);
  };
  require(options.width >= 320 && options.width <= 100000, "the width must be 320 to 100000 px");
  require(options.font_size >= 6 && options.font_size <= 48, "the font size must be 6 to 48 px");
  require(options.min_width.value_or(0) >= 0 && options.min_width.value_or(0) < options.width,
          "the smallest width of a frame must be 0 to that of the picture, in px");
  require(options.max_depth >= 2, "a picture must have room for at least 2 levels");
  require(options.row_height == 0 ||
              (options.row_height >= options.font_size && options.row_height <= 200),
          "the height of a frame must be that of the font to 200 px");
  require(options.min_percent >= 0 && options.min_percent < 100,
          "the smallest width of a frame must be 0 % to 100 % of the total");
  require(options.font.find_first_not_of(font_letters) == std::string::npos,
          "names of fonts are letters, digits, blanks and '-', with commas between them");
  palette_of(options);
}

RenderOptions resolved(RenderOptions options, const Profile& profile) {
  const bool difference = difference_of(profile).has_value();
  const bool shown = options.diff_width == WidthOf::shown;
  if (difference && shown) options.diff_width = WidthOf::larger;
  const bool signs = difference || options.diff_width == WidthOf::size;
  if (options.palette.empty()) options.palette = signs ? "diff" : "code";
  if (!options.blame) options.blame = counts_memory(profile) ? Blame::caller : Blame::all;
  return options;
}

}  // namespace memflame
