// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/palette.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/interner.h"
#include "core/re2_text.h"
#include "palettes/palettes.h"

namespace memflame {
namespace {

using PaletteJson = nlohmann::json;

constexpr double readable = 4.5;  // WCAG 2, level AA

double luminance(Rgb colour) {
  const auto linear = [](uint8_t channel) {
    const double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

[[noreturn]] void fail(const std::string& origin, const std::string& what) {
  throw Error("palette " + origin + ": " + what, ExitCode::usage);
}

Rgb parse_colour(const PaletteJson& json, const std::string& origin, const std::string& key) {
  const std::string text = json.is_string() ? json.get<std::string>() : "";
  const bool digits =
      text.size() == 7 && text.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string::npos;
  if (!digits || text[0] != '#') fail(origin, "'" + key + "' needs colours like \"#40c080\"");
  const unsigned long value = std::stoul(text.substr(1), nullptr, 16);
  return {static_cast<uint8_t>(value >> 16U), static_cast<uint8_t>(value >> 8U),
          static_cast<uint8_t>(value)};
}

const PaletteJson& member(const PaletteJson& object, const std::string& origin,
                          std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end()) fail(origin, "'" + std::string(key) + "' is missing");
  return *found;
}

std::array<Rgb, 2> colours_of(const PaletteJson& pair, const std::string& origin,
                              const std::string& key) {
  if (!pair.is_array() || pair.size() != 2) fail(origin, "'" + key + "' needs two colours");
  return {parse_colour(pair[0], origin, key), parse_colour(pair[1], origin, key)};
}

std::array<Rgb, 2> parse_pair(const PaletteJson& object, const std::string& origin,
                              const std::string& key) {
  return colours_of(member(object, origin, key), origin, key);
}

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;  // FNV-1a: the same on every machine
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return mix(hash, 0);
}

// "libz" of "/usr/lib/libz.so.1.2.13" and "libz-1.2.13.so".
std::string_view library_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (const size_t at = name.find(".so"); at != std::string_view::npos) name = name.substr(0, at);
  for (size_t at = name.find('-'); at != std::string_view::npos; at = name.find('-', at + 1))
    if (at + 1 < name.size() && name[at + 1] >= '0' && name[at + 1] <= '9')
      return name.substr(0, at);
  return name;
}

ColourRange between(const ColourRange& a, const ColourRange& b, uint64_t weight) {
  const auto channel = [&](uint8_t from, uint8_t to) {
    return static_cast<uint8_t>((from * (256 - weight) + to * weight) / 256);
  };
  const auto colour = [&](Rgb from, Rgb to) {
    return Rgb{channel(from.red, to.red), channel(from.green, to.green),
               channel(from.blue, to.blue)};
  };
  return {colour(a.low, b.low), colour(a.high, b.high)};
}

// The colour, made lighter until black text is readable on it.
Rgb readable_form(Rgb colour) {
  const auto lighter = [](uint8_t channel) {
    return static_cast<uint8_t>(channel + (255 - channel + 7) / 8);
  };
  while (contrast(colour, Rgb{}) < readable)
    colour = {lighter(colour.red), lighter(colour.green), lighter(colour.blue)};
  return colour;
}

void require_readable(Rgb colour, const std::string& origin, const std::string& key) {
  if (contrast(colour, Rgb{}) < readable)
    fail(origin, "black text is not readable on '" + key + "' " + hex(colour) + ": lighten it");
}

ColourRange range_of(const std::array<Rgb, 2>& ends, const std::string& origin,
                     const std::string& key) {
  const auto [a, b] = ends;
  const ColourRange range{
      {std::min(a.red, b.red), std::min(a.green, b.green), std::min(a.blue, b.blue)},
      {std::max(a.red, b.red), std::max(a.green, b.green), std::max(a.blue, b.blue)}};
  require_readable(range.low, origin, key);  // the darkest there is
  return range;
}

ColourRange parse_range(const PaletteJson& kinds, const std::string& origin,
                        const std::string& key) {
  return range_of(parse_pair(kinds, origin, key), origin, key);
}

std::vector<ColourRange> parse_libraries(const PaletteJson& json, const std::string& origin) {
  const std::string key = "libraries";
  std::vector<ColourRange> ranges;
  if (!json.contains(key)) return ranges;
  if (!json[key].is_array()) fail(origin, "'libraries' needs a list of pairs of colours");
  for (const PaletteJson& pair : json[key])
    ranges.push_back(range_of(colours_of(pair, origin, key), origin, key));
  return ranges;
}

std::string parse_text(const PaletteJson& object, const std::string& origin,
                       const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  if (!found->is_string()) fail(origin, "'" + key + "' needs a text");
  return found->get<std::string>();
}

std::shared_ptr<const re2::RE2> parse_pattern(const PaletteJson& rule, const std::string& origin) {
  const std::string text = parse_text(rule, origin, "match");
  if (text.empty()) return nullptr;
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto made = std::make_shared<const re2::RE2>(re2_text(text), options);
  if (!made->ok()) fail(origin, "'" + text + "' is not a regular expression: " + made->error());
  return made;
}

ColourRule parse_rule(const PaletteJson& json, const std::string& origin) {
  if (!json.is_object()) fail(origin, "each of 'rules' needs an object");
  ColourRule rule{.range = parse_range(json, origin, "colours")};
  rule.match = parse_pattern(json, origin);
  rule.legend = parse_text(json, origin, "legend");
  if (const std::string owner = parse_text(json, origin, "owner"); !owner.empty()) {
    const auto* found = std::find(owner_names.begin(), owner_names.end(), owner);
    if (found == owner_names.end()) fail(origin, "no owner is called '" + owner + "'");
    rule.owner = static_cast<Owner>(found - owner_names.begin());
  }
  if (const std::string kind = parse_text(json, origin, "kind"); !kind.empty()) {
    const auto* found = std::find_if(box_kind_info.begin(), box_kind_info.end(),
                                     [&](const BoxKindInfo& info) { return info.key == kind; });
    if (found == box_kind_info.end()) fail(origin, "no kind of frames is called '" + kind + "'");
    rule.kind = static_cast<BoxKind>(found - box_kind_info.begin());
  }
  if (!rule.match && !rule.owner && !rule.kind)
    fail(origin, "each of 'rules' needs 'match', 'owner' or 'kind'");
  return rule;
}

// The kinds of frames that have an owner: rules with an owner and without a kind apply only to
// these.
bool is_code(BoxKind kind) { return kind <= BoxKind::unknown; }

bool fits(const ColourRule& rule, std::string_view name, BoxKind kind, Owner owner) {
  if (rule.kind ? kind != *rule.kind : rule.owner ? !is_code(kind) : kind != BoxKind::user)
    return false;
  if (rule.owner && owner != *rule.owner) return false;
  return !rule.match || re2::RE2::PartialMatch(re2_text(name), *rule.match);
}

constexpr std::string_view suffix = ".json";

std::string_view name_of(const EmbeddedFile& file) {
  return file.name.substr(0, file.name.size() - suffix.size());
}

std::string names() {
  std::string list;
  for (const std::string& name : palette_names()) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

std::string hex(Rgb colour) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", colour.red, colour.green, colour.blue);
  return text.data();
}

double contrast(Rgb a, Rgb b) {
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

BoxKind box_kind(std::string_view name, FrameKind kind) {
  if (kind == FrameKind::note && (name.starts_with("[lost") || name.starts_with("[truncated")))
    return BoxKind::lost;
  static_assert(static_cast<int>(BoxKind::note) == static_cast<int>(FrameKind::note));
  return static_cast<BoxKind>(kind);
}

size_t Palette::rule_of(std::string_view frame, BoxKind kind, Owner owner) const {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const ColourRule& rule) {
    return fits(rule, frame, kind, owner);
  });
  return static_cast<size_t>(found - rules.begin());
}

Rgb Palette::colour(const Profile& profile, const CodeOwners& owners, const Frame& frame,
                    std::string_view called) const {
  return colour(called, box_kind(profile.strings[frame.function], frame.kind),
                by_owner ? owners.of(frame) : Code{});
}

std::optional<ColourRange> Palette::library(std::string_view path) const {
  return package(library_name(path));
}

std::optional<ColourRange> Palette::package(std::string_view called) const {
  if (libraries.empty()) return std::nullopt;
  // Somewhere on a circle through all of them, so that few libraries have the very same.
  const uint64_t hash = hash_of(called);
  const size_t place = (hash >> 8U) % libraries.size();
  return between(libraries[place], libraries[(place + 1) % libraries.size()], hash & 255U);
}

Rgb Palette::colour(std::string_view frame, BoxKind kind, const Code& code) const {
  if (kind != BoxKind::merged && kind != BoxKind::lost)
    if (const auto known = fixed.find(frame); known != fixed.end())
      return readable_form(known->second);
  const uint64_t hash = hash_of(frame);
  const size_t rule = rule_of(frame, kind, code.owner);
  ColourRange range = rule < rules.size() ? rules[rule].range : ranges[static_cast<size_t>(kind)];
  if (rule == rules.size() && code.owner == Owner::library && is_code(kind))
    range = (code.is_package ? package(code.part) : library(code.part)).value_or(range);
  // Mostly along the line from low to high, and a little off it: hue also tells names apart.
  const auto channel = [&](uint8_t low, uint8_t high, unsigned shift) {
    const uint64_t weight = 3 * (hash & 255U) + ((hash >> shift) & 255U);
    return static_cast<uint8_t>(low + static_cast<uint64_t>(high - low) * weight / 1020);
  };
  return {channel(range.low.red, range.high.red, 8), channel(range.low.green, range.high.green, 16),
          channel(range.low.blue, range.high.blue, 24)};
}

Rgb Palette::change_colour(double share) const {
  const std::array<Rgb, 3>& colours = change.value();
  const Rgb end = colours[share < 0 ? 0 : 2], middle = colours[1];
  const double weight = std::min(std::fabs(share), 1.0);
  const auto channel = [&](uint8_t from, uint8_t to) {
    return static_cast<uint8_t>(std::lround(from + (to - from) * weight));
  };
  return {channel(middle.red, end.red), channel(middle.green, end.green),
          channel(middle.blue, end.blue)};
}

Palette parse_palette(std::string_view text, const std::string& origin) {
  const PaletteJson json = PaletteJson::parse(text, nullptr, false);
  if (!json.is_object()) fail(origin, "this is not a JSON object");
  Palette palette;
  const PaletteJson& name = member(json, origin, "name");
  if (!name.is_string()) fail(origin, "'name' needs a text");
  palette.name = name.get<std::string>();
  palette.background = parse_pair(json, origin, "background");
  palette.dark_background = parse_pair(json, origin, "dark_background");
  palette.match = parse_colour(member(json, origin, "match"), origin, "match");
  require_readable(palette.match, origin, "match");
  for (const Rgb colour : palette.background) require_readable(colour, origin, "background");
  for (const Rgb colour : palette.dark_background)
    if (contrast(colour, {255, 255, 255}) < readable)
      fail(origin, "white text is not readable on 'dark_background' " + hex(colour));
  const PaletteJson& kinds = member(json, origin, "kinds");
  if (!kinds.is_object()) fail(origin, "'kinds' needs an object");
  for (size_t i = 0; i < box_kinds; ++i)
    palette.ranges[i] = parse_range(kinds, origin, std::string(box_kind_info[i].key));
  if (json.contains("change")) {
    const PaletteJson& change = json["change"];
    if (!change.is_array() || change.size() != 3) fail(origin, "'change' needs three colours");
    palette.change.emplace();
    for (size_t i = 0; i < change.size(); ++i) {
      (*palette.change)[i] = parse_colour(change[i], origin, "change");
      require_readable((*palette.change)[i], origin, "change");
    }
  }
  if (json.contains("rules")) {
    if (!json["rules"].is_array()) fail(origin, "'rules' needs a list");
    for (const PaletteJson& rule : json["rules"]) palette.rules.push_back(parse_rule(rule, origin));
  }
  palette.libraries = parse_libraries(json, origin);
  palette.by_owner = !palette.libraries.empty();
  for (const ColourRule& rule : palette.rules) palette.by_owner |= rule.owner.has_value();
  return palette;
}

std::vector<std::string> palette_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_palettes()) names.emplace_back(name_of(file));
  return names;
}

Palette palette_by_name(std::string_view name_or_path) {
  for (const EmbeddedFile& file : embedded_palettes())
    if (name_of(file) == name_or_path) return parse_palette(file.text, std::string(file.name));
  const std::string path(name_or_path);
  if (!path.ends_with(suffix))
    throw Error("no palette is called '" + path + "'; there are " + names() +
                    ", and files that end in .json",
                ExitCode::usage);
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || text.empty()) fail(path, "the file cannot be read");
  return parse_palette(text, path);
}

}  // namespace memflame
