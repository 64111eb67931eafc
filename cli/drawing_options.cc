// SPDX-License-Identifier: BSD-2-Clause
// The options of everything that draws; those of flamegraph.pl have the same meaning as there.
#include "cli/drawing_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/completed.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "core/error.h"
#include "render/picture/name_attributes.h"
#include "render/picture/palette.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

template <class T>
struct Word {
  std::string_view name;
  T value;
};
constexpr std::array sorts{Word<Neighbours>{"name", Neighbours::by_name},
                           Word<Neighbours>{"width", Neighbours::by_width}};
constexpr std::array elisions{Word<Elide>{"right", Elide::right}, Word<Elide>{"left", Elide::left},
                              Word<Elide>{"middle", Elide::middle}};
constexpr std::array widths{
    Word<WidthOf>{"max", WidthOf::larger},    Word<WidthOf>{"after", WidthOf::after},
    Word<WidthOf>{"before", WidthOf::before}, Word<WidthOf>{"sum", WidthOf::both},
    Word<WidthOf>{"delta", WidthOf::change},  Word<WidthOf>{"size", WidthOf::size}};

template <class Words, class T>
void take_word(const po::variables_map& values, const char* option, const Words& words, T& into) {
  std::string text;
  take(values, option, text);
  if (values.count(option) == 0) return;
  std::string known;
  for (const auto& word : words) {
    if (word.name == text) {
      into = word.value;
      return;
    }
    known.append(known.empty() ? "" : ", ").append(word.name);
  }
  throw Error("--" + std::string(option) + " takes " + known + ", not '" + text + "'",
              ExitCode::usage);
}

// "0.5" px, or "0.5%" of the total.
void take_min_width(const po::variables_map& values, RenderOptions& render) {
  std::string text;
  take(values, "minwidth", text);
  if (values.count("minwidth") == 0) return;
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

void take_max_boxes(const po::variables_map& values, RenderOptions& render) {
  int number = 1;
  take(values, "max-boxes", number);
  if (number < 1) throw Error("--max-boxes takes a number above 0", ExitCode::usage);
  if (values.count("max-boxes") != 0) render.max_boxes = static_cast<size_t>(number);
}

void take_attributes(const po::variables_map& values, RenderOptions& render) {
  std::string path;
  take(values, "nameattr", path);
  if (values.count("nameattr") == 0) return;
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

// "--title" and the like take a text, the others are flags.
struct Option {
  const char* name;
  const char* value;  // what it takes; nullptr: nothing
  const char* help;
};
constexpr const char* sort_option = "sort";
constexpr std::array looks{
    Option{"title", "TEXT", "title of the picture"},
    Option{"subtitle", "TEXT", "a line below it"},
    Option{"notes", "TEXT", "a further line of the picture"},
    Option{"palette", "NAME", "colours: a name, or a palette file (default: mem)"},
    Option{"colors", "NAME", "the same, as flamegraph.pl calls it"},
    Option{"bgcolors", "COLOUR", "background: yellow, blue, green, grey or #rrggbb"},
    Option{"hash", nullptr, "ignored: colours always depend on the name"},
    Option{"cp", nullptr, "take colours of names from palette.map, and add new names to it"},
    Option{"palette-map", "FILE", "the same with another file"},
    Option{"negate", nullptr, "swap the colours of growth and shrinkage in a difference"},
    Option{"icicle", nullptr, "root at the top"},
    Option{"inverted", nullptr, "the same, as flamegraph.pl calls it"},
    Option{"reverse", nullptr, "callers first: merge stacks from the innermost function on"},
    Option{"flamechart", nullptr, "draw stacks side by side in the order of the input, unmerged"},
    Option{sort_option, "WHAT", "order of neighbours: name (default) or width"},
    Option{"widths", "WHAT",
           "of a difference: max (default), after, before, sum or delta; of figures with signs: "
           "size"},
    Option{
        "minwidth", "PX",
        "merge narrower frames (default: 0.1, and 0.7 where a script draws); or N% of the total"},
    Option{"fonttype", "NAME", "font, or several separated by commas"},
    Option{"elide", "WHERE", "where names are cut: right (default), left or middle"},
    Option{"countname", "TEXT", "unit of the figures: bytes, pages, nanoseconds, or a word"},
    Option{"nametype", "TEXT", "text before names in tooltips, like 'Function:'"},
    Option{"total", "N", "draw widths as shares of N; the part above the sum is [untracked]"},
    Option{"factor", "X", "multiply figures by X"},
    Option{"nameattr", "FILE", "tooltips and links of functions: name TAB title=… TAB href=…"},
    Option{"static", nullptr, "draw a picture without script"},
    Option{"fragment", nullptr, "write HTML to embed in a page, without the page around it"},
};

// What shells offer for such an option.
Completion completion_of(std::string_view name) {
  const auto words = [](const auto& table) {
    Completion completion;
    for (const auto& word : table) completion.words.emplace_back(word.name);
    return completion;
  };
  if (name == sort_option) return words(sorts);
  if (name == "widths") return words(widths);
  if (name == "elide") return words(elisions);
  if (name == "bgcolors") return {.words = {"yellow", "blue", "green", "grey"}};
  if (name == "palette" || name == "colors") return {Offer::words_or_files, palette_names()};
  return {};
}

}  // namespace

void add_looks(po::options_description& options, bool own_sort) {
  for (const Option& option : looks) {
    if (own_sort && option.name == sort_option) continue;
    if (option.value == nullptr)
      options.add_options()(option.name, po::bool_switch(), option.help);
    else
      options.add_options()(option.name, completed(option.value, completion_of(option.name)),
                            option.help);
  }
  options.add_options()("width", po::value<int>()->value_name("PX"),
                        "width of the picture (default: 1200)");
  options.add_options()("height", po::value<int>()->value_name("PX"),
                        "height of a frame (default: what the font needs)");
  options.add_options()("fontsize", po::value<int>()->value_name("PX"), "(default: 12)");
  options.add_options()(
      "max-boxes", po::value<int>()->value_name("N"),
      "SVG: merge the narrowest frames if there are more at once (default: 2000)");
}

std::vector<std::string> looks_given(const po::variables_map& values) {
  std::vector<std::string> given;
  for (const Option& option : looks)
    if (option.name != sort_option && values.count(option.name) != 0 &&
        !values[option.name].defaulted())
      given.emplace_back(option.name);
  for (const char* number : {"width", "height", "fontsize", "max-boxes"})
    if (values.count(number) != 0) given.emplace_back(number);
  return given;
}

void warn_of_unused_looks(const po::variables_map& values, std::string_view format) {
  if (format == "html" && values.count("max-boxes") != 0)
    std::cerr << "memflame: --max-boxes is ignored: it is for SVG, a page has every frame\n";
  if (format == "svg" || format == "html") return;
  // Options that change figures, stacks and their description apply to every format.
  constexpr std::array<std::string_view, 7> general{"title", "notes",  "reverse", "countname",
                                                    "total", "factor", "hash"};
  std::string list;
  for (const std::string& name : looks_given(values))
    if (std::find(general.begin(), general.end(), name) == general.end())
      list += (list.empty() ? "--" : ", --") + name;
  if (!list.empty())
    std::cerr << "memflame: ignored, as " << format << " is not a picture: " << list << "\n";
}

void take_looks(const po::variables_map& values, RenderOptions& render, bool own_sort) {
  const auto is = [&](const char* name) { return values[name].as<bool>(); };
  take(values, "title", render.title);
  take(values, "subtitle", render.subtitle);
  take(values, "colors", render.palette);
  take(values, "palette", render.palette);
  take(values, "bgcolors", render.background);
  if (is("cp")) render.colour_map = "palette.map";
  take(values, "palette-map", render.colour_map);
  render.negate = is("negate");
  render.icicle = is("icicle") || is("inverted");
  if (!own_sort) take_word(values, sort_option, sorts, render.order);
  if (is("flamechart")) render.order = Neighbours::by_time;
  take_word(values, "widths", widths, render.diff_width);
  take_word(values, "elide", elisions, render.elide);
  take_min_width(values, render);
  take_max_boxes(values, render);
  take(values, "width", render.width);
  take(values, "height", render.row_height);
  take(values, "fonttype", render.font);
  take(values, "fontsize", render.font_size);
  take(values, "countname", render.count_name);
  take(values, "nametype", render.name_type);
  take_attributes(values, render);
  render.script = !is("static");
  render.fragment = is("fragment");
}

void refuse_order_of_time(const RenderOptions& render, const std::string& why) {
  if (render.order == Neighbours::by_time)
    throw Error("--flamechart needs input in the order of time; " + why, ExitCode::usage);
}

Transform transform_of(const po::variables_map& values) {
  Transform transform;
  transform.reverse = values["reverse"].as<bool>();
  take(values, "total", transform.total);
  take(values, "factor", transform.factor);
  take(values, "countname", transform.count_name);
  take(values, "notes", transform.notes);
  transform.anonymise = values["anonymise"].as<bool>();
  check_transform(transform);
  return transform;
}

Profile prepared(Profile profile, const Transform& transform, const RenderOptions& render) {
  const size_t notes = profile.meta.notes.size();
  const WidthOf width = resolved(render, profile).diff_width;
  profile = transformed(std::move(profile), transform, width);
  for (size_t i = notes; i < profile.meta.notes.size(); ++i)
    if (profile.meta.notes[i].starts_with("--"))
      std::cerr << "memflame: " << profile.meta.notes[i] << "\n";
  return profile;
}

void keep_colours(const Profile& profile, const RenderOptions& render) {
  if (render.colour_map.empty()) return;
  const Palette palette = palette_of(resolved(render, profile));
  const ColourMap map = extended_colour_map(palette, profile);
  if (map.size() == palette.fixed.size()) return;
  write_output(render.colour_map, [&](std::ostream& out) { out << colour_map_text(map); });
}

}  // namespace memflame
