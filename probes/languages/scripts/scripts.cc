// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/scripts/scripts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "core/hash.h"
#include "core/languages.h"
#include "probes/languages/names.h"
#include "probes/languages/v8/functions.h"

namespace memflame {
namespace {

constexpr uint64_t most_bytes = uint64_t{512} << 20U;  // a program may make functions all the time

uint64_t hash_of(const ScriptCode& code) {
  return mix(mix(hash_bytes(code.function), hash_bytes(code.file)),
             mix(hash_bytes(code.lines), code.first_line));
}

// Since 3.12, Python may begin an object's __init__ from code of its own, which no stack of Python
// has. It is static, and its file is a name, too.
bool is_own_code(const ScriptCode& code) {
  return code.language == Language::python && code.function == "__init__" &&
         code.file == "__init__";
}

constexpr std::array<NameScript*, 1 + known_languages.size()> names{
    nullptr,
#define MEMFLAME_LANGUAGE(name, word, mark, versions) name_##name,
#include "core/languages.def"
#undef MEMFLAME_LANGUAGE
};

NameScript* name_of(uint32_t language) {
  return language < names.size() ? names[language] : nullptr;
}

std::string reason(uint32_t language, uint32_t end) {
  if (end == bpf::script_virtual_thread) return "[virtual thread]";
  const size_t known = language == 0 || language > known_languages.size() ? 1 : language;
  return "[" + std::string(known_languages[known - 1].mark) +
         (end == bpf::script_too_long ? ": too deep]" : ": unreadable]");
}

}  // namespace

void Scripts::take(const bpf::script_code_record& record, size_t size) {
  constexpr size_t head = offsetof(bpf::script_code_record, lines);
  if (size < head) return;
  const size_t bytes =
      std::min({size - head, size_t{bpf::max_script_lines}, size_t{record.line_bytes}});
  const std::span<const uint8_t> lines(record.lines, bytes);
  if (record.language == bpf::language_java && record.name.form == bpf::java_place_text)
    return take_java_place(record, lines);
  ScriptCode code;
  Known known;
  NameScript* const name = name_of(record.language);
  if (name != nullptr && name(record, lines, code, known.instructions)) {
    code.language = static_cast<Language>(record.language);
  } else {
    code.function = reason(record.language, bpf::script_unreadable);
    if (record.language != bpf::language_javascript) ++unread_count_;
  }
  learn(record, std::move(code), known.instructions);
}

void Scripts::take_java_place(const bpf::script_code_record& record,
                              std::span<const uint8_t> lines) {
  std::vector<Place>& places = inlined_[record.space][record.code];
  places.clear();
  for (size_t at = 0; at + sizeof(bpf::java_inlined) <= lines.size();
       at += sizeof(bpf::java_inlined)) {
    bpf::java_inlined inlined{};
    std::memcpy(&inlined, lines.data() + at, sizeof(inlined));
    places.push_back({.method = inlined.method, .place = inlined.place});
  }
}

// A function that has the call, or one that is inlined there.
Scripts::V8Place Scripts::read_v8_place(const bpf::script_code_record& record,
                                        const V8Memory& memory, const V8CallSite& site) {
  V8Place place{.key = site.key};
  // The program may have met a page that was not in memory.
  auto& known = now_[record.space];
  const auto found = known.find(site.key);
  if (found == known.end() || all_[found->second.code].first_line == 0) {
    auto function = std::make_unique<bpf::script_code_record>();
    const bool is_read = read_v8_function(memory, site.info, *function);
    if (!is_read) function->name = {};
    function->space = record.space;
    function->thread = record.thread;
    function->code = site.key;
    if (is_read || found == known.end()) take(*function, sizeof(*function));
  }
  // V8 says that a call is where the function begins if it does not know.
  const std::optional<uint32_t> start = v8_start(memory, site.info);
  if (!site.position || !start || *site.position <= *start) return place;
  const std::optional<uint32_t> lines = v8_lines_between(memory, site.info, *start, *site.position);
  if (lines && *lines < script_no_place) place.place = *lines;
  return place;
}

void Scripts::take_v8_call(const bpf::script_code_record& record, size_t size, bool is_file,
                           const ReadV8Memory& read) {
  bpf::v8_call call{};
  if (size < offsetof(bpf::script_code_record, lines) + sizeof(call)) return;
  std::memcpy(&call, record.lines, sizeof(call));
  const V8Calls calls = read_v8_calls(call, record.thread, is_file, read);
  std::vector<V8Place>& places = v8_calls_[record.space][record.code];
  places.clear();
  const V8Memory memory(call.layout, record.thread, read);
  for (const V8CallSite& site : calls.sites) places.push_back(read_v8_place(record, memory, site));
  if (!places.empty()) return;
  ++calls_unread_;
  places.push_back({.key = call.key});
}

// What stands at an address from now on.
void Scripts::learn(const bpf::script_code_record& record, ScriptCode code, uint32_t instructions) {
  if (const auto all = inlined_.find(record.space); all != inlined_.end())
    all->second.erase(record.code);
  const uint32_t index = record.language == bpf::language_javascript
                             ? intern_v8(record, std::move(code))
                             : intern(std::move(code));
  now_[record.space][record.code] = {.code = index, .instructions = instructions};
}

// Memory that was not there when a function was met first, may be there later: then the stacks so
// far get its name, too.
uint32_t Scripts::intern_v8(const bpf::script_code_record& record, ScriptCode code) {
  auto& unread = unread_[record.space];
  const auto known = unread.find(record.code);
  const bool is_known = known != unread.end() && known->second.thread == record.thread;
  if (code.language != Language::none) {
    if (is_known) {
      all_[known->second.code] = code;
      unread.erase(known);
      --unread_count_;
    }
    return intern(std::move(code));
  }
  if (is_known) return known->second.code;
  ++unread_count_;
  if (full_) return *full_;
  bytes_ += sizeof(ScriptCode) + code.function.size();
  const uint32_t index = next_index(all_.size());
  all_.push_back(std::move(code));
  unread[record.code] = {.code = index, .thread = record.thread};
  return index;
}

uint32_t Scripts::intern(ScriptCode code) {
  const uint64_t hash = hash_of(code);
  for (auto [at, end] = known_.equal_range(hash); at != end; ++at)
    if (all_[at->second] == code) return at->second;
  bytes_ += sizeof(ScriptCode) + code.function.size() + code.file.size() + code.lines.size();
  if (bytes_ > most_bytes && !full_) {
    full_ = next_index(all_.size());
    all_.push_back({.language = Language::none,
                    .function = "[too many functions]",
                    .file = {},
                    .first_line = 0,
                    .lines = {}});
  }
  if (full_) return *full_;
  const uint32_t index = next_index(all_.size());
  all_.push_back(std::move(code));
  known_.emplace(hash, index);
  return index;
}

Pc Scripts::place_of(SpaceId space, uint64_t code, uint32_t place, bpf::language language) {
  const auto of_space = now_.find(space.index);
  if (of_space != now_.end())
    if (const auto known = of_space->second.find(code); known != of_space->second.end()) {
      if (language == bpf::language_ruby)
        place = (place - known->second.instructions) & script_no_place;
      return script_pc(known->second.code, place);
    }
  ScriptCode missing;
  missing.function = reason(language, bpf::script_unreadable);
  return script_pc(intern(std::move(missing)), script_no_place);
}

void Scripts::place(SpaceId space, uint64_t word, std::vector<Pc>& to) {
  const bpf::language language = bpf::script_language(word);
  const uint64_t code = bpf::script_identity(word);
  if (bpf::script_code(word) == 0) {
    ScriptCode missing;
    missing.function = reason(language, bpf::script_place(word));
    to.push_back(script_pc(intern(std::move(missing)), script_no_place));
    return;
  }
  if (bpf::is_java_code(word))
    if (const auto all = inlined_.find(space.index); all != inlined_.end())
      if (const auto found = all->second.find(code); found != all->second.end()) {
        for (const Place& each : found->second)
          to.push_back(place_of(space, each.method, each.place, language));
        return;
      }
  if (language == bpf::language_javascript)
    if (const auto all = v8_calls_.find(space.index); all != v8_calls_.end())
      if (const auto found = all->second.find(code); found != all->second.end()) {
        for (const V8Place& each : found->second)
          to.push_back(place_of(space, each.key, each.place, language));
        return;
      }
  const bool has_place = language != bpf::language_javascript && !bpf::is_java_code(word);
  const Pc found =
      place_of(space, code, has_place ? bpf::script_place(word) : script_no_place, language);
  if (!is_own_code(all_[script_index(found)])) to.push_back(found);
}

void Scripts::forget(SpaceId space) {
  now_.erase(space.index);
  unread_.erase(space.index);
  inlined_.erase(space.index);
  v8_calls_.erase(space.index);
}

}  // namespace memflame
