// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/pprof/pprof_places.h"

#include "collapse/inputs/folded/marked_names.h"
#include "core/error.h"
#include "core/hex.h"
#include "core/re2_text.h"
#include "core/unnamed.h"

namespace memflame::pprof {
namespace {

// A limit for all stacks together: samples of a few bytes may all name a location with thousands of
// inlined frames.
constexpr size_t most_frames_a_byte = 8;

bool is_kernel_mapping(std::string_view module) {
  return module.starts_with("[kernel") || module.starts_with("[guest.kernel") ||
         module.ends_with(".ko") || module.ends_with("/vmlinux");
}

// A name as the patterns of frames to drop expect it: without a leading dot and without arguments.
std::string_view without_call_arguments(std::string_view name) {
  if (name.starts_with('.')) name.remove_prefix(1);
  for (size_t at = name.find('('); at != std::string_view::npos; at = name.find('(', at + 1)) {
    constexpr std::string_view space = "(anonymous namespace)", call = "operator()";
    if (name.substr(at).starts_with(space)) continue;
    if (name.substr(0, at + 2).ends_with(call)) continue;
    return name.substr(0, at);
  }
  return name;
}

}  // namespace

Places::Places(const Tables& tables, const UnnamedCode& unnamed, const ReadOptions& options,
               Profile& profile, Issues& issues, bool roots_are_processes, size_t bytes)
    : tables_(tables),
      unnamed_(unnamed),
      options_(options),
      profile_(profile),
      issues_(issues),
      roots_are_processes_(roots_are_processes),
      drop_(pattern(tables.drop_frames)),
      keep_(pattern(tables.keep_frames)),
      strings_(tables.strings.size()),
      places_(tables.locations.size() + 1),
      code_mappings_(tables.mappings.size()),
      functions_(tables.functions.size() + 1),
      most_unfolded_((size_t{1} << 20U) + most_frames_a_byte * bytes) {}

Places::~Places() = default;

std::unique_ptr<re2::RE2> Places::pattern(int64_t at) {
  const std::string_view wanted = text(at);
  if (wanted.empty()) return nullptr;
  RE2::Options quiet;
  quiet.set_log_errors(false);
  auto made = std::make_unique<re2::RE2>(re2_text(wanted), quiet);
  if (made->ok()) return made;
  issues_.add("a pattern of frames to drop or to keep", 0, wanted);
  return nullptr;
}

std::string_view Places::text(int64_t at) {
  if (at >= 0 && static_cast<size_t>(at) < tables_.strings.size())
    return tables_.strings[static_cast<size_t>(at)];
  if (at != 0) issues_.add("a text that is not there", 0, std::to_string(at));
  return {};
}

StringId Places::interned(int64_t at) {
  const std::string_view wanted = text(at);
  if (wanted.empty()) return {};
  StringId& id = strings_[static_cast<size_t>(at)];
  if (!id) id = profile_.strings.intern(wanted);
  return id;
}

bool Places::is_dropped(std::string_view name) const {
  name = without_call_arguments(name);
  const Re2Text piece = re2_text(name);
  return RE2::FullMatch(piece, *drop_) && (!keep_ || !RE2::FullMatch(piece, *keep_));
}

const Places::Named& Places::function_of(const Line& line) {
  const uint32_t at = tables_.function_ids.find(line.function);
  if (at == IdTable::none) {
    if (line.function != 0)
      issues_.add("a function that is not there", 0, std::to_string(line.function));
    return functions_.back();
  }
  Named& named = functions_[at];
  if (named.known) return named;
  named.known = true;
  const Function& function = tables_.functions[at];
  const std::string_view name = text(function.name);
  std::string_view marked = text(function.system_name);
  named.name = interned(name.empty() ? function.system_name : function.name);
  named.file = options_.lines ? interned(function.file) : StringId{};
  if (options_.code && function.start_line > 0 && function.start_line <= UINT32_MAX)
    named.start_line = static_cast<uint32_t>(function.start_line);
  named.kind = bracketed_kind(profile_.strings[named.name]);
  named.dropped = drop_ && !name.empty() && is_dropped(name);
  // memflame appends the suffix of folded text to the system name, for the frame's kind.
  if (name.empty() || marked.size() <= name.size()) return named;
  const FrameKind kind = take_mark(marked);
  if (marked == name) named.kind = kind;
  return named;
}

const Mapping& Places::mapping_of(const Location& location) {
  static constexpr Mapping none;
  if (location.mapping == 0) return none;
  const uint32_t at = tables_.mapping_ids.find(location.mapping);
  if (at != IdTable::none) return tables_.mappings[at];
  issues_.add("a mapping that is not there", 0, std::to_string(location.mapping));
  return none;
}

StringId Places::module_of(const Location& location) {
  const int64_t file = mapping_of(location).file;
  return text(file) == own_mapping ? StringId{} : interned(file);
}

// The place of a location, if its mapping can be trusted. A mapping without a range contains every
// address.
CodeId Places::code_of(const Location& location) {
  const Mapping& mapping = mapping_of(location);
  const bool has_range = mapping.start != 0 || mapping.limit != 0;
  if (!options_.code || location.address == 0 || mapping.file == 0 ||
      (has_range && (location.address < mapping.start || location.address >= mapping.limit)))
    return {};
  CodeMappingId& id = code_mappings_[static_cast<size_t>(&mapping - tables_.mappings.data())];
  if (!id) {
    id = profile_.code.add({.file = std::string(text(mapping.file)),
                            .build_id = std::string(text(mapping.build_id)),
                            .start = mapping.start,
                            .limit = mapping.limit,
                            .offset = mapping.offset});
    // By convention the first mapping is the main program.
    if (&mapping == tables_.mappings.data()) profile_.code.mark_program(id);
  }
  return profile_.code.add({id, location.address});
}

FrameId Places::unknown_frame(const Location& location) {
  const Mapping& mapping = mapping_of(location);
  const StringId module = module_of(location);
  std::string name = options_.addresses ? hex(location.address) : "[unknown]";
  const std::optional<uint64_t> start =
      module ? unnamed_.start_of(text(mapping.build_id), location.address) : std::nullopt;
  // A profile that memflame wrote already states the number of names that are unknown.
  if (!start) ++nameless_;
  if (module) {
    const uint64_t offset = location.address - mapping.start + mapping.offset;
    name = unnamed_code(profile_.strings[module], start.value_or(offset));
  }
  return profile_.frames.intern({.function = profile_.strings.intern(name),
                                 .module = module,
                                 .file = {},
                                 .kind = FrameKind::unknown,
                                 .code = code_of(location)});
}

FrameId Places::frame_of(const Location& location, const Line& line, bool is_inlined) {
  const Named& function = function_of(line);
  if (!function.name) return unknown_frame(location);
  const StringId module = module_of(location);
  Frame frame{.function = function.name,
              .module = module,
              .file = function.file,
              .kind = function.kind,
              .start_line = function.start_line,
              .code = code_of(location)};
  if (frame.kind == FrameKind::user && is_kernel_mapping(profile_.strings[module]))
    frame.kind = FrameKind::kernel;
  if (is_inlined) frame.kind = FrameKind::inlined;
  if (options_.lines && line.line > 0 && line.line <= UINT32_MAX)
    frame.line = static_cast<uint32_t>(line.line);
  return profile_.frames.intern(frame);
}

// How many of a location's lines, from the outermost, are above the first to be dropped.
size_t Places::kept_lines(const Location& location) {
  const size_t count = location.last_line - location.first_line;
  if (!drop_) return count;
  for (size_t kept = 0; kept < count; ++kept)
    if (function_of(tables_.lines[location.last_line - 1 - kept]).dropped) return kept;
  return count;
}

void Places::make(const Location& location, Place& place) {
  place.known = true;
  place.begin = frames_.size();
  const size_t count = location.last_line - location.first_line;
  size_t kept = kept_lines(location);
  place.callees_dropped = kept < count;
  // A location whose lines would all be dropped stays if no kept location calls it.
  place.dropped = place.callees_dropped && kept == 0;
  if (place.dropped) kept = count;
  if (count == 0) frames_.push_back(unknown_frame(location));
  for (size_t i = 0; i < kept; ++i)
    frames_.push_back(frame_of(location, tables_.lines[location.last_line - 1 - i], i != 0));
  place.end = frames_.size();
}

const Places::Place& Places::place(uint64_t id) {
  const uint32_t at = tables_.location_ids.find(id);
  Place& place = at == IdTable::none ? places_.back() : places_[at];
  if (at == IdTable::none) issues_.add("a location that is not there", 0, std::to_string(id));
  if (!place.known) make(at == IdTable::none ? Location{} : tables_.locations[at], place);
  return place;
}

FrameId Places::as_process(FrameId id) {
  Frame frame = profile_.frames[id];
  if (frame.kind == FrameKind::user) frame.kind = FrameKind::process;
  return profile_.frames.intern(frame);
}

StackId Places::stack(StackId root, std::span<const uint64_t> locations) {
  StackId top = root;
  bool has_callers = false;
  for (size_t i = locations.size(); i-- > 0;) {
    const Place& next = place(locations[i]);
    if (next.dropped && has_callers) break;
    if ((unfolded_ += next.end - next.begin) > most_unfolded_)
      throw Error("its stacks unfold to more than 8 frames a byte; it cannot be right");
    for (size_t at = next.begin; at < next.end; ++at) {
      const bool is_process = roots_are_processes_ && !top;
      top = profile_.stacks.push(top, is_process ? as_process(frames_[at]) : frames_[at]);
    }
    if (next.callees_dropped && has_callers) break;
    has_callers = has_callers || !next.callees_dropped;
  }
  return top ? top : profile_.push(top, "[no stack]", FrameKind::note);
}

void Places::finish() {
  if (nameless_ != 0) profile_.losses.add(Loss::unknown_symbol, nameless_);
}

}  // namespace memflame::pprof
