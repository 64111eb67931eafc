// SPDX-License-Identifier: BSD-2-Clause
// Reads presets: named lists of declarations in JSON.
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "probes/alloc/custom/custom.h"
#include "probes/alloc/custom/presets.h"

namespace memflame {
namespace {

using nlohmann::json;

constexpr std::string_view later = ",later";
constexpr size_t max_file = 1 << 20;
constexpr size_t max_declarations = 256;

[[noreturn]] void fail(const std::string& origin, const std::string& problem) {
  throw Error("preset " + origin + ": " + problem + " (see docs/custom-allocators.md)",
              ExitCode::usage);
}

const json& member(const json& document, const char* name, const std::string& origin) {
  const auto found = document.find(name);
  if (found == document.end()) fail(origin, std::string("has no \"") + name + "\"");
  return *found;
}

void read_declarations(const json& document, const char* list,
                       CustomFunction (*parse)(std::string_view), const std::string& origin,
                       Preset& preset) {
  const json& declarations = member(document, list, origin);
  if (!declarations.is_array()) fail(origin, std::string("\"") + list + "\" is not a list");
  for (const json& each : declarations) {
    if (!each.is_string())
      fail(origin, std::string("\"") + list + "\" has an element that is not a string");
    if (preset.functions.size() == max_declarations)
      fail(origin, "more than " + std::to_string(max_declarations) + " declarations");
    try {
      CustomFunction function = parse(each.get<std::string>());
      function.option = "--preset " + origin + " (" + list + ")";
      preset.functions.push_back(std::move(function));
    } catch (const Error& error) {
      fail(origin, error.what());
    }
  }
}

std::string read_preset_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("preset " + path + ": cannot be read");
  std::string text(max_file + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw Error("preset " + path + ": cannot be read");
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > max_file) fail(path, "longer than 1 MiB");
  return text;
}

std::string_view embedded(const std::string& name) {
  std::string known;
  for (const EmbeddedFile& file : embedded_presets()) {
    if (file.name == name + ".json") return file.text;
    known += (known.empty() ? "" : ", ") + std::string(file.name.substr(0, file.name.size() - 5));
  }
  throw Error("no preset '" + name + "': there are " + known + ", and files (NAME.json)",
              ExitCode::usage);
}

}  // namespace

Preset parse_preset(std::string_view text, const std::string& origin) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::exception& error) {
    fail(origin, std::string("is not JSON: ") + error.what());
  }
  if (!document.is_object()) fail(origin, "is not a JSON object");
  static const std::set<std::string> known{"name", "description", "instead", "alloc", "free"};
  for (const auto& [key, value] : document.items())
    if (!known.contains(key))
      fail(origin,
           "has an unknown \"" + key + "\"; known are name, description, instead, alloc and free");
  Preset preset;
  const json& name = member(document, "name", origin);
  const json& description = member(document, "description", origin);
  if (!name.is_string() || name.get<std::string>().empty() || !description.is_string())
    fail(origin, "\"name\" and \"description\" must be strings");
  preset.name = name.get<std::string>();
  preset.description = description.get<std::string>();
  if (const auto instead = document.find("instead"); instead != document.end()) {
    if (!instead->is_string()) fail(origin, "\"instead\" must be a string");
    preset.instead = instead->get<std::string>();
  }
  read_declarations(document, "alloc", parse_alloc, origin, preset);
  read_declarations(document, "free", parse_free, origin, preset);
  if (preset.functions.empty()) fail(origin, "declares nothing");
  return preset;
}

Preset read_preset(std::string_view name_or_path) {
  const bool may_come_later = name_or_path.ends_with(later);
  if (may_come_later) name_or_path.remove_suffix(later.size());
  const std::string name(name_or_path);
  const bool is_file = name.find('/') != std::string::npos || name.ends_with(".json");
  Preset preset =
      is_file ? parse_preset(read_preset_file(name), name) : parse_preset(embedded(name), name);
  if (may_come_later)
    for (CustomFunction& function : preset.functions) function.later = true;
  return preset;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_presets())
    names.emplace_back(file.name.substr(0, file.name.size() - 5));
  return names;
}

}  // namespace memflame
