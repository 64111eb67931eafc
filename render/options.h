// How a profile is drawn. The defaults here are the documented ones; `--help` prints them.
#pragma once

#include <cstdint>
#include <string>

namespace memflame {

// What the width of a box is: the shown column; of a difference the larger of both states, one of
// them, their sum or what has changed; or a signed column by its size.
enum class WidthOf : uint8_t { shown, larger, after, before, both, change, size };

// What stands beside each other in a picture. By time it is a flame chart: stacks are from left to
// right as they came (Profile::in_order), and what a frame has of its own is at the right of its
// callees.
enum class Neighbours : uint8_t { by_name, by_width, by_time };

struct RenderOptions {
  std::string title{};          // "" = the profile's own, else made of what is shown
  std::string palette = "mem";  // a name of palettes/, or the path of a palette file
  bool icicle = false;          // root at the top instead of the bottom
  int width = 1200;             // px at rest; in a browser the picture fills a wider window
  double min_width = 0.1;       // px at rest; narrower frames are merged into one box per caller
  int font_size = 12;           // px
  size_t max_boxes = 4'000;     // in a picture of boxes that are elements; the narrowest are merged
  Neighbours order = Neighbours::by_name;
  WidthOf diff_width = WidthOf::shown;
  bool script = true;          // without, a picture can be looked at only
  uint32_t max_depth = 16384;  // deeper frames are merged too: browsers draw no endless pictures
  // Folded text:
  bool header = true;       // comment lines with unit, origin and losses
  bool marks = true;        // "_[k]" behind names of kernel functions and the like
  bool all_values = false;  // all columns, with TABs between them
  bool one_value = false;   // only the shown one, also of a difference, which has before and after
  bool compat = false;      // names as they are, byte for byte, and no header
  unsigned threads = 1;     // to write it; the text does not depend on them
};

// Throws Error (usage) that names what is out of range, or a palette that cannot be had.
void check_render_options(const RenderOptions& options);

}  // namespace memflame
