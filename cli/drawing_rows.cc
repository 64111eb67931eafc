// SPDX-License-Identifier: BSD-2-Clause
// The options of everything that draws; those of flamegraph.pl have the same meaning as there.
#include "cli/drawing_rows.h"

#include <array>
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "render/picture/name_attributes.h"
#include "render/picture/palette.h"

namespace memflame {
namespace {

using Given = boost::program_options::variable_value;

constexpr std::span sort_words = std::span(order_words).first<2>();

template <class Words>
Completion completion_of(const Words& words) {
  Completion completion;
  for (const auto& word : words) completion.words.emplace_back(word.name);
  return completion;
}

template <class Words>
auto value_of(std::string_view option, const Words& words, const Given& given) {
  const auto& text = given.as<std::string>();
  std::string known;
  for (const auto& word : words) {
    if (word.name == text) return word.value;
    known.append(known.empty() ? "" : ", ").append(word.name);
  }
  throw Error("--" + std::string(option) + " takes " + known + ", not '" + text + "'",
              ExitCode::usage);
}

// Sets a field to what was given.
template <auto field>
void into(const Given& given, RenderOptions& render) {
  using Field = std::remove_reference_t<decltype(render.*field)>;
  render.*field = given.as<Field>();
}

void set_colors(const Given& given, RenderOptions& render) {
  if (render.palette.empty()) render.palette = given.as<std::string>();
}

void set_cp(const Given& given, RenderOptions& render) {
  if (given.as<bool>()) render.colour_map = "palette.map";
}

void set_icicle(const Given& given, RenderOptions& render) { render.icicle |= given.as<bool>(); }

void set_flamechart(const Given& given, RenderOptions& render) {
  if (given.as<bool>()) render.order = Neighbours::by_time;
}

void set_sort(const Given& given, RenderOptions& render) {
  const Neighbours order = value_of("sort", sort_words, given);
  if (render.order != Neighbours::by_time) render.order = order;
}

void set_widths(const Given& given, RenderOptions& render) {
  render.diff_width = value_of("widths", width_words, given);
}

void set_elide(const Given& given, RenderOptions& render) {
  render.elide = value_of("elide", elide_words, given);
}

void set_blame(const Given& given, RenderOptions& render) {
  render.blame = value_of("blame", blame_words, given);
}

void set_runtime(const Given& given, RenderOptions& render) {
  render.runtime = value_of("runtime", runtime_words, given);
}

void set_reverse(const Given& given, RenderOptions& render) { render.reversed = given.as<bool>(); }

void set_verdicts(const Given& given, RenderOptions& render) {
  render.verdicts = value_of("verdicts", verdict_words, given);
}

void set_static(const Given& given, RenderOptions& render) { render.script = !given.as<bool>(); }

// "0.5" px, or "0.5%" of the total.
void set_min_width(const Given& given, RenderOptions& render) {
  const auto& text = given.as<std::string>();
  const bool share = text.ends_with('%');
  const char* end = text.data() + text.size() - (share ? 1 : 0);
  double number = 0;
  const auto [read, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || read != end)
    throw Error(
        "--minwidth takes a number of pixels, or a percentage like 0.5%, not '" + text + "'",
        ExitCode::usage);
  render.min_width = share ? 0 : number;
  if (share) render.min_percent = number;
}

void set_max_boxes(const Given& given, RenderOptions& render) {
  const int number = given.as<int>();
  if (number < 1) throw Error("--max-boxes takes a number above 0", ExitCode::usage);
  render.max_boxes = static_cast<size_t>(number);
}

void set_attributes(const Given& given, RenderOptions& render) {
  const auto& path = given.as<std::string>();
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad())
    throw Error("--nameattr: cannot read '" + path + "'", ExitCode::usage);
  ReadAttributes read = read_name_attributes(text, path);
  render.attributes = std::move(read.by_name);
  if (read.ignored != 0)
    std::cerr
        << "memflame: --nameattr: " << read.ignored
        << " attributes were ignored: only title, target, and href with http or https are used\n";
}

std::string short_number(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

std::vector<DrawingRow> make_drawing_rows() {
  using enum DrawingRow::Takes;
  using enum DrawingRow::Of;
  using R = RenderOptions;
  const R usual;
  const auto number_of = [](auto number) { return " (default: " + std::to_string(number) + ")"; };
  const Completion palettes{Offer::words_or_files, palette_names()};
  const Completion backgrounds{.words = {"yellow", "blue", "green", "grey"}};
  return {
      {"title", text, "TEXT", "title of the picture", into<&R::title>, every_format},
      {"subtitle", text, "TEXT", "a line below it", into<&R::subtitle>, boxes},
      {"notes", text, "TEXT", "a further line of the picture", nullptr, every_format},
      {"palette", text, "NAME", "colours: a name, or a palette file (default: code)",
       into<&R::palette>, boxes, palettes},
      {"colors", text, "NAME", "the same, as flamegraph.pl calls it", set_colors, boxes, palettes},
      {"bgcolors", text, "COLOUR", "background: yellow, blue, green, grey or #rrggbb",
       into<&R::background>, pictures, backgrounds},
      {"hash", nothing, "", "ignored: colours always depend on the name", nullptr, every_format},
      {"cp", nothing, "", "take colours of names from palette.map, and add new names to it", set_cp,
       boxes},
      {"palette-map", text, "FILE", "the same with another file", into<&R::colour_map>, boxes},
      {"negate", nothing, "", "swap the colours of growth and shrinkage in a difference",
       into<&R::negate>, boxes},
      {"icicle", nothing, "", "root at the top", set_icicle},
      {"inverted", nothing, "", "the same, as flamegraph.pl calls it", set_icicle},
      {"reverse", nothing, "", "callers first: merge stacks from the innermost function on",
       set_reverse, every_format},
      {"flamechart", nothing, "", "draw stacks side by side in the order of the input, unmerged",
       set_flamechart, boxes},
      {"sort", text, "WHAT", "order of neighbours: name (default) or width", set_sort, boxes,
       completion_of(sort_words)},
      {"widths", text, "WHAT",
       "of a difference: max (default), after, before, sum or delta; of figures with signs: size",
       set_widths, boxes, completion_of(width_words)},
      {"minwidth", text, "PX",
       "merge narrower frames (default: " + short_number(R::usual_min_width) + ", and " +
           short_number(R::script_min_width) + " where a script draws); or N% of the total",
       set_min_width},
      {"fonttype", text, "NAME", "font, or several separated by commas", into<&R::font>},
      {"elide", text, "WHERE", "where names are cut: right (default), left or middle", set_elide,
       boxes, completion_of(elide_words)},
      {"blame", text, "WHO",
       "give an allocation's figures to the allocator's caller (caller; default for memory) or to "
       "the "
       "caller of standard containers too (user), or draw all frames (all)",
       set_blame, boxes, completion_of(blame_words)},
      {"runtime", text, "HOW",
       "draw what an interpreter does between two functions of its language as one box (folded; "
       "default), or all of it (shown)",
       set_runtime, boxes, completion_of(runtime_words)},
      {"countname", text, "TEXT", "unit of the figures: bytes, pages, nanoseconds, or a word",
       into<&R::count_name>, every_format},
      {"nametype", text, "TEXT", "text before names in tooltips, like 'Function:'",
       into<&R::name_type>},
      {"total", text, "N", "draw widths as shares of N; the part above the sum is [untracked]",
       nullptr, every_format},
      {"factor", text, "X", "multiply figures by X", nullptr, every_format},
      {"nameattr", text, "FILE", "tooltips and links of functions: name TAB title=… TAB href=…",
       set_attributes, DrawingRow::Of::links},
      {"verdicts", text, "WHETHER",
       "mark what leaks, on or off: of recordings (default: on), and of alloc and kernel while "
       "they "
       "run (default: off)",
       set_verdicts, every_format, completion_of(verdict_words)},
      {"static", nothing, "", "draw a picture without script", set_static},
      {"fragment", nothing, "", "write HTML to embed in a page, without the page around it",
       into<&R::fragment>},
      {"width", number, "PX",
       "width of the picture" + number_of(usual.width) +
           "; of text in columns (default: the terminal's, or " + std::to_string(usual.columns) +
           ")",
       into<&R::width>, boxes},
      {"height", number, "PX", "height of a frame (default: what the font needs)",
       into<&R::row_height>},
      {"fontsize", number, "PX", number_of(usual.font_size).substr(1), into<&R::font_size>},
      {"max-boxes", number, "N",
       "SVG: merge the narrowest frames if there are more at once" + number_of(usual.max_boxes),
       set_max_boxes, svg},
  };
}

}  // namespace

std::span<const DrawingRow> drawing_rows() {
  static const std::vector<DrawingRow> all = make_drawing_rows();
  return all;
}

}  // namespace memflame
