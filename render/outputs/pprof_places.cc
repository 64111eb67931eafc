// SPDX-License-Identifier: BSD-2-Clause
#include "render/outputs/pprof_places.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/pprof.h"
#include "core/unnamed.h"

namespace memflame {
namespace {

// "libc.so.6", "libfoo.so": if an input does not name the program, it was not one of these.
bool is_library(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return name.ends_with(".so") || name.find(".so.") != std::string_view::npos ||
         name.starts_with('[');
}

void append_hex(std::string& text, uint64_t number) {
  char digits[16];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr);
}

}  // namespace

PprofPlaces::PprofPlaces(const Profile& profile)
    : profile_(profile),
      weight_(profile.code.mappings(), 0),
      by_code_(profile.code.mappings(), 0),
      by_module_(profile.strings.size(), 0) {
  for (uint32_t i = 1; i < profile.code.mappings(); ++i)
    has_programs_ = has_programs_ || profile.code.is_program(CodeMappingId{i});
}

bool PprofPlaces::may_be_main(CodeMappingId mapping) const {
  return has_programs_ ? profile_.code.is_program(mapping)
                       : !is_library(profile_.code[mapping].file);
}

// Adds the value to the program of a stack: the outermost code in it that may be a program.
void PprofPlaces::weigh(const std::vector<FrameId>& path, int64_t value) {
  for (const FrameId id : path) {
    const CodeMappingId mapping = profile_.code[profile_.frames[id].code].mapping;
    if (!mapping || !may_be_main(mapping)) continue;
    // All shown values may be 0, as when everything was freed.
    constexpr double of_a_stack = 1e-3;
    weight_[mapping.index] += std::abs(static_cast<double>(value)) + of_a_stack;
    return;
  }
}

bool PprofPlaces::goes_on(FrameId callee, FrameId caller) const {
  const Frame& inner = profile_.frames[callee];
  const Frame& outer = profile_.frames[caller];
  return inner.kind == FrameKind::inlined && inner.module == outer.module &&
         inner.code == outer.code;
}

void PprofPlaces::take(StackId stack, int64_t value, std::vector<uint64_t>& locations) {
  const std::vector<FrameId> path = profile_.path(stack);
  if (!profile_.code.empty()) weigh(path, value);
  locations.clear();
  StackId chain;
  for (size_t i = 0; i < path.size(); ++i) {
    chain = chains_.push(chain, path[i]);
    if (i + 1 < path.size() && goes_on(path[i + 1], path[i])) continue;
    if (id_of_chain_.size() < chains_.size()) id_of_chain_.resize(chains_.size(), 0);
    uint32_t& id = id_of_chain_[chain.index];
    if (id == 0) {
      ends_.push_back(chain);
      id = static_cast<uint32_t>(ends_.size());
    }
    locations.push_back(id);
    chain = {};
  }
  std::reverse(locations.begin(), locations.end());
}

uint32_t PprofPlaces::mapping_of(const Frame& frame) {
  const CodeMappingId code = profile_.code[frame.code].mapping;
  // Without addresses nobody looks up names; a frame without module has no mapping.
  if (!code && !frame.module && profile_.code.empty()) return 0;
  uint32_t& id = code ? by_code_[code.index] : by_module_[frame.module.index];
  if (id == 0) {
    mappings_.push_back({.module = code ? StringId{} : frame.module, .code = code});
    id = static_cast<uint32_t>(mappings_.size());
  }
  return id;
}

// Code without a name here, but with a build id by which others may find one.
bool PprofPlaces::is_for_symbolizers(const Frame& frame) {
  const CodePlace& place = profile_.code[frame.code];
  const CodeMapping& mapping = profile_.code[place.mapping];
  if (frame.kind != FrameKind::unknown || mapping.build_id.empty()) return false;
  const std::optional<uint64_t> start =
      where_unnamed(profile_.strings[frame.function], mapping.file);
  if (!start) return false;  // it got another name
  const auto [known, added] = unnamed_[mapping.build_id].try_emplace(place.address, *start);
  return added || known->second == *start;
}

// The place of a line in its location says that it was inlined, except for the outermost line. All
// other kinds need a mark.
uint32_t PprofPlaces::function_of(const Frame& frame, bool is_outermost) {
  const bool says_so = frame.kind == FrameKind::inlined && !is_outermost;
  return functions_
      .intern(
          {frame.function, frame.file, frame.start_line, says_so ? FrameKind::user : frame.kind})
      .index;
}

PprofLocation PprofPlaces::location_of(StackId chain) {
  const Frame& innermost = frame_of(chain);
  PprofLocation location{.mapping = mapping_of(innermost),
                         .address = profile_.code[innermost.code].address,
                         .lines = {}};
  PprofMapping none;
  PprofMapping& mapping = location.mapping == 0 ? none : mappings_[location.mapping - 1];
  const bool is_alone = !chains_[chain].caller;
  if (is_alone && is_for_symbolizers(innermost)) {
    mapping.functions = false;
    return location;
  }
  for (StackId at = chain; at; at = chains_[at].caller) {
    const Frame& frame = frame_of(at);
    location.lines.push_back({function_of(frame, !chains_[at].caller), frame.line});
    // Without an address nothing can be looked up.
    mapping.functions = mapping.functions && (!frame.code || frame.kind != FrameKind::unknown);
    mapping.files = mapping.files || frame.file;
    mapping.lines = mapping.lines || frame.line != 0;
  }
  return location;
}

void PprofPlaces::finish() {
  const auto heaviest = std::max_element(weight_.begin(), weight_.end());
  if (heaviest != weight_.end() && *heaviest > 0) {
    const CodeMappingId main{static_cast<uint32_t>(heaviest - weight_.begin())};
    mappings_.push_back({.module = {}, .code = main});
    by_code_[main.index] = 1;
  }
  // memflame's own mapping is the last: pprof takes the first for the program.
  for (const StackId chain : ends_)
    if (const Frame& frame = frame_of(chain); frame.code || frame.module) mapping_of(frame);
  made_.reserve(ends_.size());
  for (const StackId chain : ends_) made_.push_back(location_of(chain));
}

std::vector<std::string> PprofPlaces::unnamed_comments() const {
  std::vector<std::string> comments;
  for (const auto& [build_id, start_of] : unnamed_) {
    std::set<uint64_t> starts;
    for (const auto& [address, start] : start_of)
      if (start <= address) starts.insert(start);
    std::string& text = comments.emplace_back(std::string(pprof::unnamed_comment) + build_id);
    for (const uint64_t start : starts) append_hex(text += " ", start);
    for (const auto& [address, start] : start_of) {
      const auto after = starts.upper_bound(address);
      if (after != starts.begin() && *std::prev(after) == start) continue;
      append_hex(text += " ", address);
      append_hex(text += "=", start);
    }
  }
  return comments;
}

}  // namespace memflame
