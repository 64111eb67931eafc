// SPDX-License-Identifier: BSD-2-Clause
// Messages about declared functions that are missing or ambiguous.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "core/error.h"
#include "probes/alloc/custom/custom_sites.h"
#include "probes/alloc/finding/function_symbols.h"

namespace memflame {
namespace {

constexpr size_t most_candidates = 8;
constexpr size_t longest_name = 512;  // longer names are not compared
constexpr size_t part_of_a_name = 2;  // the distance of two names if one contains the other …
constexpr size_t least_part = 4;      // … and the shorter one has at least this many letters

using Functions = std::vector<CustomFunction>;

std::string label(const CustomFunction& declared) {
  return declared.option + " '" + declared.text + "'";
}

size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

struct Candidate {
  size_t distance;
  std::string name, path;
  uint64_t offset;
  auto order() const { return std::tie(distance, name, path, offset); }
  bool operator<(const Candidate& other) const { return order() < other.order(); }
};

// The nearest functions of all files, also of those that FILE excludes.
std::set<Candidate> nearest(const std::string& wanted, std::span<const CandidateFile> files) {
  std::set<Candidate> best;
  for (const CandidateFile& file : files)
    for_each_function(file.fd, [&](const FunctionSymbol& symbol) {
      if (!symbol.problem.empty()) return;
      const std::optional<size_t> distance = name_distance(wanted, symbol.name);
      if (!distance) return;
      if (best.size() == most_candidates && std::prev(best.end())->distance < *distance) return;
      best.insert({*distance, std::string(symbol.name), file.path, symbol.offset});
      if (best.size() > most_candidates) best.erase(std::prev(best.end()));
    });
  return best;
}

std::string names_of(std::span<const CandidateFile> files) {
  std::string text;
  size_t named = 0;
  std::set<std::string> known;
  for (const CandidateFile& file : files) {
    if (!known.insert(file.path).second) continue;
    if (++named > most_candidates) continue;
    text += (text.empty() ? "" : ", ") + file.path;
  }
  if (named > most_candidates) text += " and " + std::to_string(named - most_candidates) + " more";
  return text.empty() ? "none" : text;
}

[[noreturn]] void fail_no_file(const CustomFunction& declared,
                               std::span<const CandidateFile> files) {
  throw Error(label(declared) + ": no file of the target is '" + declared.file + "' (its files: " +
              names_of(files) + "); write ',later' in the parentheses if it is loaded later");
}

[[noreturn]] void fail_missing(const CustomFunction& declared,
                               std::span<const CandidateFile> files) {
  if (!declared.file.empty() && std::ranges::none_of(files, [&](const CandidateFile& file) {
        return means_file(declared.file, file.fd, file.path);
      }))
    fail_no_file(declared, files);
  std::string text;
  for (const Candidate& each : nearest(declared.function, files))
    text += (text.empty() ? "; similar: " : ", ") + each.name + " in " + each.path;
  throw Error(
      label(declared) + ": no function '" + declared.function + "' in " +
      (declared.file.empty() || declared.file == "*" ? "any file of the target"
                                                     : "'" + declared.file + "'") +
      (text.empty() ? "; no similar name either (nm -D FILE lists what a file offers)" : text));
}

struct Place {
  const CustomFile* file;
  const CustomHit* hit;
};

// In the order of the files. A file that was found twice counts once.
std::vector<Place> places_of(const CustomFunction& declared, std::span<const CustomFile> found) {
  std::vector<Place> places;
  std::set<std::pair<uint64_t, uint64_t>> seen;
  for (const CustomFile& file : found) {
    if (!seen.insert({file.device, file.inode}).second) continue;
    for (const CustomHit& hit : file.hits)
      if (hit.declared == &declared) places.push_back({&file, &hit});
  }
  return places;
}

std::string text_of(const std::vector<Place>& places) {
  std::string text;
  for (size_t i = 0; i < std::min(places.size(), most_candidates); ++i)
    text += (i == 0 ? "" : ", ") + places[i].file->path + ":" + hex_offset(places[i].hit->offset);
  if (places.size() > most_candidates)
    text += " and " + std::to_string(places.size() - most_candidates) + " more";
  return text;
}

void require_one_file(const CustomFunction& declared, const std::vector<Place>& places) {
  if (!declared.file.empty() || is_glob(declared.function)) return;
  const bool several = std::ranges::any_of(
      places, [&](const Place& place) { return place.file != places.front().file; });
  if (several)
    throw Error(label(declared) + ": '" + declared.function +
                "' is in several files of the target: " + text_of(places) +
                "; put the one that is meant in front of the name, as FILE:" + declared.function +
                ", or *: for all of them");
}

void require_probeable(const CustomFunction& declared, const std::vector<Place>& places) {
  if (std::ranges::any_of(places, [](const Place& place) { return place.hit->problem.empty(); }))
    return;
  const Place& first = places.front();
  std::string advice;
  if (places.size() > 1)
    advice = "; candidates: " + text_of(places) + "; say which by FILE:+OFFSET";
  throw Error(label(declared) + ": '" + first.hit->name + "' in " + first.file->path +
              " cannot be probed: it " + first.hit->problem + advice);
}

void require(const CustomFunction& declared, std::span<const CustomFile> found,
             std::span<const CandidateFile> files) {
  const std::vector<Place> places = places_of(declared, found);
  if (places.empty()) {
    if (!declared.later) fail_missing(declared, files);
    return;
  }
  require_one_file(declared, places);
  require_probeable(declared, places);
}

// Throws if a function was inlined, because its probes see only an unknown part of its calls.
void require_calls(const Preset& preset, std::span<const CustomFile> found) {
  std::string text;
  for (const CustomFunction& declared : preset.functions)
    for (const Place& place : places_of(declared, found))
      if (place.hit->copies != 0)
        text += (text.empty() ? "" : ", ") + place.hit->name + " in " +
                std::to_string(place.hit->copies) + " places of " + place.file->path;
  if (!text.empty())
    throw Error("--preset " + preset.name + ": the compiler has inlined " + text +
                ", which no probe sees" + (preset.instead.empty() ? "" : "; " + preset.instead));
}

void require(const Preset& preset, std::span<const CustomFile> found,
             std::span<const CandidateFile> files) {
  require_calls(preset, found);
  bool allocates = false, may_come = false;
  std::string problem;
  for (const CustomFunction& declared : preset.functions) {
    may_come |= declared.later;
    for (const Place& place : places_of(declared, found)) {
      allocates |= place.hit->problem.empty() && declared.shape.action == bpf::action_allocate;
      if (!place.hit->problem.empty() && problem.empty())
        problem = "; '" + place.hit->name + "' in " + place.file->path + " " + place.hit->problem;
    }
  }
  if (allocates || may_come) return;
  throw Error("--preset " + preset.name + ": none of its allocating functions, like " +
              preset.functions.front().function + ", can be probed in the target's files (" +
              names_of(files) + ")" + problem + "; write '" + preset.name +
              ",later' if the library is loaded later");
}

}  // namespace

std::optional<size_t> name_distance(std::string_view wanted, std::string_view name) {
  if (wanted.empty() || name.empty() || wanted.size() > longest_name || name.size() > longest_name)
    return std::nullopt;
  const size_t most = std::max<size_t>(2, wanted.size() / 3);
  const size_t longer = std::max(wanted.size(), name.size());
  const size_t shorter = std::min(wanted.size(), name.size());
  std::optional<size_t> result;
  if (longer - shorter <= most)
    if (const size_t count = edits(wanted, name); count <= most && count < shorter) result = count;
  const bool part =
      name.find(wanted) != std::string_view::npos || wanted.find(name) != std::string_view::npos;
  if (part && shorter >= least_part) result = std::min(result.value_or(most), part_of_a_name);
  return result;
}

void require_custom(const CustomFunctions& custom, std::span<const CustomFile> found,
                    std::span<const CandidateFile> files) {
  for (const CustomFunction& declared : custom.functions) require(declared, found, files);
  for (const Preset& preset : custom.presets) require(preset, found, files);
}

}  // namespace memflame
