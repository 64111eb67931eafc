// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/heaptrack_traces.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "core/error.h"
#include "core/hex.h"

namespace memflame {
namespace {

// What heaptrack does not count as leaks of the program: memory that the C library, the dynamic
// linker and glib keep.
constexpr std::array builtin_suppressions{
    "__nss_module_allocate", "__gconv_read_conf",  "__new_exitfn", "tzset_internal",
    "dl_open_worker",        "g_main_context_new", "g_thread_self"};

uint32_t line_number(uint64_t line) {
  return line <= std::numeric_limits<uint32_t>::max() ? static_cast<uint32_t>(line) : 0;
}

}  // namespace

HeaptrackTraces::HeaptrackTraces(Profile& profile, Issues& issues, const ReadOptions& options)
    : profile_(profile), issues_(issues), options_(options) {
  for (const char* name : builtin_suppressions) patterns.add(name);
  traces_.push_back({.stack = profile.push({}, "[unknown]", FrameKind::unknown)});
}

// Since version 3 the length precedes the text.
void HeaptrackTraces::string(const HexFields& fields, uint64_t version, size_t line) {
  constexpr uint64_t first_with_length = 3;
  HexFields rest = fields;
  std::string_view text = rest.rest();
  if (version >= first_with_length) {
    const auto length = rest.next();
    if (length != rest.rest().size())
      issues_.add("a string that is not as long as it says", line, text);
    if (length) text = rest.rest().substr(0, *length);
  }
  strings_.push_back(profile_.strings.intern(text));
}

// ADDRESS MODULE [FUNCTION FILE LINE]…: the innermost of inlined functions first.
void HeaptrackTraces::instruction(HexFields& fields, size_t line) {
  const std::string_view text = fields.rest();
  const auto address = fields.next();
  const uint64_t module_number = fields.next().value_or(0);
  std::vector<Place> places;
  bool strings_known = module_number < strings_.size();
  while (const auto function = fields.next()) {
    const uint64_t file = fields.next().value_or(0);
    const uint64_t number = fields.next().value_or(0);
    strings_known = strings_known && *function < strings_.size() && file < strings_.size();
    if (places.size() < max_inlined)
      places.push_back({known_string(*function), known_string(file), line_number(number)});
    else
      strings_known = false;
  }
  if (!address || !fields.rest().empty())
    issues_.add("not an address, a module and functions", line, text);
  else if (!strings_known)
    issues_.add("names that were not there before, or too many of them", line, text);
  if (places.empty()) places.emplace_back();
  instructions_.push_back({frames_.size(), places.size()});
  for (size_t i = places.size(); i-- > 0;)
    add_frame(places[i], known_string(module_number), address.value_or(0), i + 1 != places.size());
}

void HeaptrackTraces::add_frame(const Place& place, StringId module, uint64_t address,
                                bool inlined) {
  Frame frame{.function = place.function, .module = module, .file = {}};
  if (!place.function) {
    frame.function = nameless(module, address);
    frame.kind = FrameKind::unknown;
  } else if (inlined) {
    frame.kind = FrameKind::inlined;
  }
  if (options_.lines) {
    frame.file = place.file;
    frame.line = place.line;
  }
  frames_.push_back(profile_.frames.intern(frame));
  files_.push_back(place.file);
}

StringId HeaptrackTraces::nameless(StringId module, uint64_t address) {
  if (options_.addresses) return profile_.strings.intern(hex(address));
  constexpr size_t longest = 255;
  std::string_view name = profile_.strings[module];
  name = name.substr(name.rfind('/') + 1).substr(0, longest);
  return profile_.strings.intern(name.empty() ? "[unknown]" : "[" + std::string(name) + "]");
}

// INSTRUCTION CALLER
void HeaptrackTraces::trace(HexFields& fields, size_t line) {
  const std::string_view text = fields.rest();
  uint64_t instruction = fields.next().value_or(0);
  uint64_t caller = fields.next().value_or(0);
  if (instruction == 0 || instruction >= instructions_.size() || caller >= traces_.size()) {
    issues_.add("a trace of what was not there before", line, text);
    if (instruction >= instructions_.size()) instruction = 0;
    if (caller >= traces_.size()) caller = 0;
  }
  StackId stack = caller == 0 ? StackId{} : traces_[caller].stack;
  const Instruction& frames = instructions_[instruction];
  constexpr uint64_t most_frames_a_byte = 8, at_least = uint64_t{1} << 20U;
  bytes_ += text.size();
  unfolded_ += frames.count;
  if (unfolded_ > at_least + most_frames_a_byte * bytes_)
    throw Error("its traces unfold to more than 8 frames a byte; it cannot be right");
  for (size_t i = 0; i < frames.count; ++i)
    stack = profile_.stacks.push(stack, frames_[frames.first + i]);
  if (!stack) stack = traces_[0].stack;
  next_index(traces_.size());
  traces_.push_back({stack, static_cast<uint32_t>(instruction), static_cast<uint32_t>(caller)});
}

std::vector<bool> HeaptrackTraces::suppressed_instructions() const {
  std::vector<bool> names(profile_.strings.size());
  for (uint32_t i = 1; i < names.size(); ++i)
    names[i] = patterns.match(profile_.strings[StringId{i}]);
  std::vector<bool> instructions(instructions_.size());
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& of = instructions_[i];
    for (size_t at = of.first; at < of.first + of.count && !instructions[i]; ++at) {
      const Frame& frame = profile_.frames[frames_[at]];
      instructions[i] =
          names[frame.function.index] || names[frame.module.index] || names[files_[at].index];
    }
  }
  return instructions;
}

std::vector<bool> HeaptrackTraces::suppressed() const {
  const std::vector<bool> instructions = suppressed_instructions();
  if (std::find(instructions.begin(), instructions.end(), true) == instructions.end()) return {};
  std::vector<bool> traces(traces_.size());
  for (size_t i = 1; i < traces.size(); ++i)
    traces[i] = traces[traces_[i].caller] || instructions[traces_[i].instruction];
  return traces;
}

}  // namespace memflame
