// SPDX-License-Identifier: BSD-2-Clause
// How a profile is drawn. The defaults here are the documented ones; `--help` prints them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace memflame {

class Profile;

// The width of a box: the shown column; for a difference the larger of both states, one of them,
// their sum or their change; or a signed column by its size.
enum class WidthOf : uint8_t { shown, larger, after, before, both, change, size };

// The order of neighbours in a picture. By time it is a flame chart: stacks are drawn from left to
// right in order of arrival (Profile::in_order), and a frame's own share is to the right of its
// callees.
enum class Neighbours : uint8_t { by_name, by_width, by_time };

// Which function has the figures of a stack: the first one outside of the allocator, the first one
// outside of the standard library's containers too, or the innermost one. See picture/blame.h.
enum class Blame : uint8_t { caller, user, all };

// What an interpreter does between two functions of its language: one box, or all of it. See
// picture/folded_runtime.h.
enum class Runtime : uint8_t { folded, shown };

// Which end of a name is cut if there is no room for all of it.
enum class Elide : uint8_t { right, left, middle };

// The words for these, on the command line and in what the viewer gets. The order of time has an
// option of its own, --flamechart.
template <class T>
struct RenderWord {
  std::string_view name;
  T value;
};
inline constexpr std::array order_words{RenderWord<Neighbours>{"name", Neighbours::by_name},
                                        RenderWord<Neighbours>{"width", Neighbours::by_width},
                                        RenderWord<Neighbours>{"time", Neighbours::by_time}};
inline constexpr std::array elide_words{RenderWord<Elide>{"right", Elide::right},
                                        RenderWord<Elide>{"left", Elide::left},
                                        RenderWord<Elide>{"middle", Elide::middle}};
inline constexpr std::array width_words{
    RenderWord<WidthOf>{"max", WidthOf::larger},    RenderWord<WidthOf>{"after", WidthOf::after},
    RenderWord<WidthOf>{"before", WidthOf::before}, RenderWord<WidthOf>{"sum", WidthOf::both},
    RenderWord<WidthOf>{"delta", WidthOf::change},  RenderWord<WidthOf>{"size", WidthOf::size}};

inline constexpr std::array blame_words{RenderWord<Blame>{"caller", Blame::caller},
                                        RenderWord<Blame>{"user", Blame::user},
                                        RenderWord<Blame>{"all", Blame::all}};

inline constexpr std::array runtime_words{RenderWord<Runtime>{"folded", Runtime::folded},
                                          RenderWord<Runtime>{"shown", Runtime::shown}};

inline constexpr std::array verdict_words{RenderWord<bool>{"on", true},
                                          RenderWord<bool>{"off", false}};

// "" for a value without a word.
template <class T>
constexpr std::string_view word_for(std::span<const RenderWord<T>> words, T value) {
  for (const RenderWord<T>& word : words)
    if (word.value == value) return word.name;
  return "";
}

// What a file adds to a box (render/picture/name_attributes.h).
struct NameAttributes {
  std::string href, target, title;
};

struct RenderOptions {
  std::string title{};    // "" = the profile's own, else made from what is shown
  std::string palette{};  // of palettes/, or a palette file; "" = code, or diff if signs matter
  bool icicle = false;    // root at the top instead of the bottom
  int width = 1200;       // px at rest; in a browser the picture fills a wider window
  // px at rest; narrower frames are merged into one box per caller. The script has a default of
  // its own in viewer/layout.mjs; tests/viewer/layout.test.mjs compares it with this one.
  std::optional<double> min_width{};
  static constexpr double usual_min_width = 0.1, script_min_width = 0.7;
  int font_size = 12;        // px
  size_t max_boxes = 2'000;  // drawn at once as elements; the narrowest are merged
  Neighbours order = Neighbours::by_name;
  WidthOf diff_width = WidthOf::shown;  // for a difference, `shown` becomes `larger` (resolved())
  bool script = true;                   // false: the picture does not react to clicks
  uint32_t max_depth = 16384;  // deeper frames are merged too: browsers limit the size of pictures
  std::string subtitle{};
  int row_height = 0;        // px; 0 = what the font needs
  double min_percent = 0;    // of the total; used like min_width
  std::string font{};        // names of fonts for all text, with commas; "" = the system's
  std::string name_type{};   // "Function:", before names in tooltips
  std::string count_name{};  // "samples", after plain counts
  std::string background{};  // yellow, blue, green, grey or #rrggbb; "" = the palette's
  std::string colour_map{};  // path of a file with colours that names keep
  std::map<std::string, NameAttributes, std::less<>> attributes{};  // by name
  Elide elide = Elide::right;
  // Not given: caller, where a column is in bytes or pages; else all (resolved()).
  std::optional<Blame> blame{};
  Runtime runtime = Runtime::folded;
  bool reversed = false;  // stacks begin with the innermost function (Transform::reverse)
  bool negate = false;    // swap the colours of growth and shrinkage
  bool fragment = false;  // to embed in a page, not a file of its own
  // Point out what leaks. Not given: in recordings, where that is known. A run has to look at its
  // tables for it, which takes seconds where a program has a million stacks.
  std::optional<bool> verdicts{};
  // Text in cells:
  int columns = 100;
  bool utf8 = true;         // else ASCII
  bool truecolour = false;  // boxes are coloured, else they have edges
  // Folded text:
  bool header = true;       // comment lines with unit, origin and losses
  bool marks = true;        // "_[k]" after names of kernel functions and the like
  bool all_values = false;  // all columns, with TABs between them
  bool one_value = false;   // only the shown one; else a difference has before and after
  bool compat = false;      // names as they are, byte for byte, and no header
  bool lines = false;    // tell frames apart by source line; in names if there is no field for it
  unsigned threads = 1;  // to write with; the text does not depend on them
};

// Throws Error (usage) that names the option out of range, or a palette that does not exist.
void check_render_options(const RenderOptions& options);

// Fills in what depends on the profile: palette, diff_width and blame.
RenderOptions resolved(RenderOptions options, const Profile& profile);

// px
inline int row_height(const RenderOptions& options) {
  return options.row_height != 0 ? options.row_height : options.font_size + 7;
}

}  // namespace memflame
