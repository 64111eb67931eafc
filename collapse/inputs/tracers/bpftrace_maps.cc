// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/tracers/bpftrace_maps.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr std::string_view no_stack = "[no stack]";

// The output never states a map's unit; its name often does.
std::optional<Unit> unit_of_name(std::string_view name) {
  if (name.find("bytes") != std::string_view::npos) return Unit::bytes;
  if (name.ends_with("nsecs") || name.ends_with("_ns")) return Unit::nanoseconds;
  return std::nullopt;
}

// With "0x" or, mode=raw, without: a name would have its offset behind it.
std::optional<uint64_t> address_of(std::string_view text) {
  constexpr size_t shortest = 6;
  return text.size() < shortest ? std::nullopt : hex_address(text);
}

// "f@/src/f.c:12"; the name of a versioned symbol has an '@' but no line.
void take_bpftrace_place(TextFrame& frame) {
  const size_t at = frame.function.rfind('@');
  if (at == std::string_view::npos || at == 0) return;
  std::string_view place = frame.function.substr(at + 1);
  const auto line = take_line_number(place);
  if (!line) return;
  frame.file = place;
  frame.line = *line;
  frame.function = frame.function.substr(0, at);
}

// mode=perf: "ADDRESS f+12 (MODULE)".
TextFrame perf_frame(std::string_view text) {
  const auto address = hex_address(take_until(text, " "));
  TextFrame frame{.function = trimmed(text)};
  const auto module = take_bracketed(frame.function, '(', ')');
  if (address && is_kernel_address(*address)) frame.kind = FrameKind::kernel;
  if (module == "inlined")
    frame.kind = FrameKind::inlined;
  else if (module && module != "[unknown]")
    frame.module = *module;
  return frame;
}

}  // namespace

void BpftraceMaps::begin(std::string_view map) {
  open_ = true;
  map_ = map;
  keys_.clear();
  frames_.clear();
  entry_stacks_.clear();
  position_ = 0;
  empty_stack_ = false;
  hash_ = hash_bytes(map);
}

void BpftraceMaps::key(std::string_view text) {
  ++position_;
  hash_ = mix(hash_, hash_bytes(text));
  if (text.empty())
    empty_stack_ = true;
  else
    keys_.emplace_back(text);
}

void BpftraceMaps::keys(std::string_view texts, std::string_view separator) {
  while (true) {
    const bool more = texts.find(separator) != std::string_view::npos;
    key(take_until(texts, separator));
    if (!more) return;
  }
}

void BpftraceMaps::begin_stack() {
  entry_stacks_.push_back({frames_.size(), 0, position_++, false});
}

void BpftraceMaps::frame(std::string_view line) {
  hash_ = mix(hash_, hash_bytes(line));
  const FrameId id = lines_.get(
      line, [&](std::string_view text) { return intern(stacks_.profile, parse(text), options_); });
  frames_.push_back(id);
  Stack& stack = entry_stacks_.back();
  ++stack.size;
  if (stacks_.profile.frames[id].kind == FrameKind::kernel) stack.kernel = true;
}

TextFrame BpftraceMaps::parse(std::string_view line) const {
  constexpr size_t build_id = 40;
  constexpr std::string_view inlined = "[inlined] ";
  std::string_view text = trimmed(line);
  if (text == "<unwind failure>") return {text, {}, {}, 0, FrameKind::note};
  const std::string_view first = text.substr(0, text.find(' '));
  TextFrame frame{.function = text};
  if (first.size() == build_id && first != text && is_hex(first))
    return {text, {}, {}, 0, FrameKind::unknown};
  if (line.starts_with('\t') && first != text && is_hex(first)) frame = perf_frame(text);
  if (frame.function.starts_with(inlined)) {
    frame.function.remove_prefix(inlined.size());
    frame.kind = FrameKind::inlined;
  }
  take_bpftrace_place(frame);
  if (const auto address = address_of(frame.function)) {
    if (frame.kind == FrameKind::user) frame.kind = FrameKind::unknown;
    if (is_kernel_address(*address)) frame.kind = FrameKind::kernel;
    return frame;
  }
  const std::string_view bare = without_offset(frame.function);
  if (frame.kind == FrameKind::user && is_kernel_entry(bare)) frame.kind = FrameKind::kernel;
  if (!options_.offsets) frame.function = bare;
  return frame;
}

std::optional<int64_t> BpftraceMaps::number(std::string_view text) {
  uint64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || end != last || value <= INT64_MAX) return integer(text);
  ++unsigned_;
  return static_cast<int64_t>(value);
}

size_t BpftraceMaps::column(Sheet& sheet, const MapValue& value) {
  const std::string name = map_ + value.part;
  const auto known = sheet.columns.find(name);
  if (known != sheet.columns.end()) return known->second;
  ValueType type{name.empty() ? "count" : name, Unit::count};
  if (!value.counted) {
    const auto unit = unit_of_name(map_);
    if (unit) type.unit = *unit;
    if (options_.type && !unit) type.unit = options_.type->unit;
    if (options_.type && name.empty()) type.name = options_.type->name;
  }
  size_t index = 0;
  if (sheet.profile.types.empty())
    sheet.profile.types.push_back(type);
  else
    index = sheet.profile.add_column(type);
  sheet.columns.emplace(name, index);
  return index;
}

FrameId BpftraceMaps::as_kernel(FrameId id) {
  Frame frame = stacks_.profile.frames[id];
  if (frame.kind != FrameKind::note) frame.kind = FrameKind::kernel;
  return stacks_.profile.frames.intern(frame);
}

// The output does not say which key is the kernel's stack. Its functions or addresses tell, else
// its position in other entries of the map; else the first of several stacks is taken for it.
void BpftraceMaps::order_stacks() {
  const auto is_kernel = [](const Stack& stack) { return stack.kernel; };
  const auto found = std::find_if(entry_stacks_.begin(), entry_stacks_.end(), is_kernel);
  if (found != entry_stacks_.end()) {
    kernel_at_.insert_or_assign(map_, found->position);
    return;
  }
  const auto known = kernel_at_.find(map_);
  for (Stack& stack : entry_stacks_)
    if (known != kernel_at_.end() && known->second == stack.position) stack.kernel = true;
  if (known == kernel_at_.end() && entry_stacks_.size() > 1) entry_stacks_[0].kernel = true;
}

StackId BpftraceMaps::push(Sheet& sheet) {
  StackId top;
  for (const std::string& key : keys_) top = sheet.profile.push(top, key);
  if (entry_stacks_.empty()) {
    if (empty_stack_ || keys_.empty()) top = sheet.profile.push(top, no_stack, FrameKind::note);
    return top;
  }
  order_stacks();
  for (const bool kernel : {false, true})
    for (const Stack& stack : entry_stacks_) {
      if (stack.kernel != kernel) continue;
      const std::span<FrameId> frames = std::span(frames_).subspan(stack.begin, stack.size);
      if (kernel)
        for (FrameId& frame : frames) frame = as_kernel(frame);
      top = push_leaf_first(sheet.profile, top, frames);
    }
  return top;
}

void BpftraceMaps::add(std::span<const MapValue> values) {
  open_ = false;
  empty_stack_ =
      std::erase_if(entry_stacks_, [](const Stack& s) { return s.size == 0; }) != 0 || empty_stack_;
  Sheet& sheet = entry_stacks_.empty() ? keyed_ : stacks_;
  std::vector<size_t> columns;
  for (const MapValue& value : values) columns.push_back(column(sheet, value));
  std::vector<int64_t> row(sheet.profile.types.size());
  for (size_t i = 0; i < values.size(); ++i) row[columns[i]] = values[i].value;
  sheet.profile.add(push(sheet), row);
  const auto same = [&](uint32_t id) { return hashes_[id - 1] == hash_; };
  if (seen_.find(hash_, same) != 0) {
    ++again_;
    return;
  }
  hashes_.push_back(hash_);
  seen_.insert(hash_, next_index(hashes_.size()));
}

void BpftraceMaps::scalar(std::string_view map, std::string_view value) {
  constexpr size_t enough = 20;
  if (scalars_.size() < enough)
    scalars_.push_back("@" + std::string(map) + ": " + std::string(value));
}

// If other entries of a map have stacks, an entry without belongs to them. Other maps are the
// script's own book-keeping.
void BpftraceMaps::move_keyed_entries() {
  Profile& into = stacks_.profile;
  uint64_t left_out = 0;
  std::vector<int64_t> row(into.types.size());
  for (const StackId stack : keyed_.profile.touched()) {
    const std::span<const int64_t> values = keyed_.profile.values(stack);
    std::fill(row.begin(), row.end(), 0);
    bool any = false;
    for (const auto& [name, index] : keyed_.columns) {
      const auto to = stacks_.columns.find(name);
      if (to != stacks_.columns.end()) row[to->second] = values[index];
      any = any || (to != stacks_.columns.end() && values[index] != 0);
    }
    if (!any) {
      ++left_out;
      continue;
    }
    StackId top;
    for (const FrameId frame : keyed_.profile.path(stack))
      top = into.stacks.push(top, into.frames.intern(frame_from(into, keyed_.profile, frame)));
    into.add(top, row);
  }
  if (left_out != 0)
    into.meta.notes.push_back(with_commas(static_cast<int64_t>(left_out)) +
                              " entries of maps without stacks are left out");
}

Profile BpftraceMaps::finish() {
  const bool with_stacks = !stacks_.profile.touched().empty();
  if (with_stacks) move_keyed_entries();
  Profile profile = std::move(with_stacks ? stacks_.profile : keyed_.profile);
  const auto is_bytes = [](const ValueType& type) { return type.unit == Unit::bytes; };
  const auto shown = std::find_if(profile.types.begin(), profile.types.end(), is_bytes);
  if (shown != profile.types.end())
    profile.shown = static_cast<size_t>(shown - profile.types.begin());
  for (const std::string& text : scalars_) profile.meta.notes.push_back(text);
  if (again_ != 0)
    profile.meta.notes.push_back(
        with_commas(static_cast<int64_t>(again_)) +
        " entries were printed more than once and are added up: right when the script clears its "
        "maps after printing them");
  if (unsigned_ != 0)
    profile.meta.notes.push_back(with_commas(static_cast<int64_t>(unsigned_)) +
                                 " numbers beyond 2^63 are taken as negative: bpftrace printed "
                                 "negative sums without their sign");
  return profile;
}

}  // namespace memflame
