// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/kept_names.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "collapse/symbolize/code_of.h"

namespace memflame {
namespace {

// A program of 100 MB of code has fewer places that allocate. Beyond it, all are forgotten.
constexpr size_t most_names = 200'000;
constexpr uint64_t never = UINT64_MAX;
constexpr uint32_t most_doublings = 6;

bool is_named(const Location& location) {
  return !location.symbols.empty() && location.symbols.front().kind != FrameKind::unknown;
}

}  // namespace

// The places without those that are known, which are found.
Places KeptNames::take_known(Recording& recording, Places places, std::vector<Found>& found) const {
  for (auto& [module, targets] : places.files)
    std::erase_if(targets, [&, id = module](const NamelessAddress& target) {
      Location& location = recording.locations[target.location.index];
      const Key key{id, target.offset, location.pc.is_return};
      const auto known = known_.find(key);
      if (known == known_.end() || known->second.again <= looks_) return false;
      location.symbols = known->second.symbols;
      if (!is_named(location)) recording.losses.add(Loss::unknown_symbol, 1);
      found.push_back({key, target.location});
      return true;
    });
  std::erase_if(places.files, [](const auto& file) { return file.second.empty(); });
  return places;
}

void KeptNames::keep(const Recording& recording, const Places& places) {
  for (const auto& [module, targets] : places.files)
    for (const NamelessAddress& target : targets) {
      const Location& location = recording.locations[target.location.index];
      const bool named = is_named(location);
      if (named && location.symbols.front().kind == FrameKind::user) read_.insert(module);
      // A note says so in each look if a file cannot be read, or code made at run time has no
      // names.
      if (!named && !read_.contains(module)) continue;
      Known& known = known_[{module, target.offset, location.pc.is_return}];
      known.symbols = location.symbols;
      known.again = never;
      if (!named) known.again = looks_ + (uint64_t{1} << std::min(++known.tries, most_doublings));
      const size_t place = target.location.index;
      if (place >= recording.code_of.size() || !recording.code_of[place]) continue;
      const CodePlace& code = recording.code[recording.code_of[place]];
      known.mapping = recording.code[code.mapping];
      known.address = code.address;
    }
}

void KeptNames::symbolize(Recording& recording, const SymbolSources& sources) {
  if (known_.size() > most_names) known_.clear();
  ++looks_;
  std::vector<Found> found;
  const Places places = take_known(recording, find_places(recording), found);
  memflame::symbolize(recording, places, sources);
  keep(recording, places);
  if (!sources.code) return;
  CodeOf code(recording, CodeOf::Begin::beside);
  for (const auto& [key, location] : found) {
    const Known& known = known_.at(key);
    if (!known.mapping.file.empty()) code.set(location, key.module, known.mapping, known.address);
  }
}

}  // namespace memflame
