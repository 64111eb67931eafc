// SPDX-License-Identifier: BSD-2-Clause
// Colours, read from palettes/*.json or a file of the user's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/owner.h"
#include "core/stack.h"
#include "render/picture/code_owners.h"
#include "render/picture/options.h"

namespace re2 {
class RE2;
}

namespace memflame {

struct Rgb {
  uint8_t red = 0, green = 0, blue = 0;
  friend bool operator==(Rgb, Rgb) = default;
};

std::string hex(Rgb colour);  // "#40c080"
// As WCAG 2 defines it: 1 (same colour) to 21 (black on white).
double contrast(Rgb a, Rgb b);

// A frame gets a colour between the two, channel by channel, that depends on its name.
struct ColourRange {
  Rgb low, high;
};

// What colours boxes: the kinds of frames, and two that the picture adds.
enum class BoxKind : uint8_t { user, kernel, inlined, jit, unknown, process, note, lost, merged };
inline constexpr size_t box_kinds = 9;

struct BoxKindInfo {
  std::string_view key;     // in a palette file
  std::string_view legend;  // in the picture
};
inline constexpr std::array<BoxKindInfo, box_kinds> box_kind_info{{
    {"user", "function"},
    {"kernel", "kernel"},
    {"inlined", "inlined"},
    {"jit", "JIT code"},
    {"unknown", "no symbol"},
    {"process", "process"},
    {"note", "group"},
    {"lost", "cut short or lost"},
    {"merged", "too narrow, merged"},
}};

// "[lost: …]" and "[truncated: …]" are notes that must be seen.
BoxKind box_kind(std::string_view name, FrameKind kind);

// Colours for some frames: those of a kind, of an owner, with a matching name, or a combination of
// these. A rule without kind and owner applies to user functions.
struct ColourRule {
  std::shared_ptr<const re2::RE2> match{};  // none: any name
  std::optional<Owner> owner{};
  std::optional<BoxKind> kind{};
  ColourRange range;
  std::string legend{};  // in the picture
};

// Names that keep their colour from picture to picture.
using ColourMap = std::map<std::string, Rgb, std::less<>>;

struct Palette {
  std::string name;
  std::array<Rgb, 2> background;       // from top to bottom
  std::array<Rgb, 2> dark_background;  // in dark mode
  Rgb match;                           // found by a search
  std::array<ColourRange, box_kinds> ranges;
  // Colours for shrunk, equal and grown, in a palette for differences.
  std::optional<std::array<Rgb, 3>> change{};
  std::vector<ColourRule> rules{};       // the first match counts
  std::vector<ColourRange> libraries{};  // behind the rules: of shared objects, by their names
  bool by_owner = false;                 // a colour depends on whose code it is
  ColourMap fixed{};                     // before all rules, for all but merged boxes and losses

  // The rule for a frame; rules.size() if there is none.
  size_t rule_of(std::string_view name, BoxKind kind, Owner owner) const;

  // The colours of a library's functions, those with a symbol and those that are inlined. Versions
  // of it have the same. None if the palette has no colours for libraries.
  std::optional<ColourRange> library(std::string_view path) const;
  // The same for a package of Go, by its whole name.
  std::optional<ColourRange> package(std::string_view name) const;

  // The same name has the same colour in every picture.
  Rgb colour(std::string_view name, BoxKind kind, const Code& code = {}) const;
  // The colour of a frame of a profile that is called `name`.
  Rgb colour(const Profile& profile, const CodeOwners& owners, const Frame& frame,
             std::string_view name) const;
  // From -1, gone, to 1, new. Only if there is `change`.
  Rgb change_colour(double share) const;
};

// `text` is a palette file's. Throws Error that names what in `origin` is wrong, also if black text
// would not be readable (contrast below 4.5) on one of the colours.
Palette parse_palette(std::string_view text, const std::string& origin);

// Those of palettes/; the first is the default.
std::vector<std::string> palette_names();
// A name in palettes/, or the path of a .json file. Throws Error (usage) that lists the names.
Palette palette_by_name(std::string_view name_or_path);

// The palette that the options ask for, with their other choices of colour: background, which
// colour of a difference means growth, colours kept in a file. Throws Error (usage).
Palette palette_of(const RenderOptions& options);

// Which text is readable on a background from the options: on "light" every text that is readable
// on the palettes' own backgrounds, on "mid" only nearly black text. "" if none is given. Pictures
// have it as data-ground, which picture.css and page.css use.
std::string_view ground_of(const RenderOptions& options);

// Lines "name->rgb(r,g,b)", as flamegraph.pl writes them; a name may contain "->". A missing file
// is empty. Throws Error that names the line.
ColourMap read_colour_map(const std::string& path);
std::string colour_map_text(const ColourMap& map);
// `palette.fixed` plus the names of all frames that it lacks.
ColourMap extended_colour_map(const Palette& palette, const Profile& profile);

}  // namespace memflame
