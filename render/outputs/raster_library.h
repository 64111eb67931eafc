// SPDX-License-Identifier: BSD-2-Clause
// SVG -> PNG or PDF by librsvg and cairo. The only part that knows them. They are loaded when a
// picture is drawn: with all that they load themselves, they would double the time that memflame
// takes to start.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace memflame {

enum class RasterForm : uint8_t { png, pdf };

struct RasterSize {
  double width = 0, height = 0;  // px of a PNG, points of a PDF
};

// The size that a picture of `width` × `height` px gets: a PNG has two pixels for each of them, so
// that text is sharp, or fewer if cairo could not hold it. Throws Error if text would be
// unreadable.
RasterSize raster_size(RasterForm form, double width, double height);

// Hands the file to `write`, piece by piece, which returns false if it cannot be written. Loads no
// other file than fonts: `svg` has no address that anything could be relative to. Throws Error.
void draw_raster(RasterForm form, std::string_view svg,
                 const std::function<bool(std::string_view)>& write);

}  // namespace memflame
