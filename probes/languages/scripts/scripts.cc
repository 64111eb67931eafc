// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/scripts/scripts.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "core/hash.h"
#include "core/java_lines.h"
#include "core/utf8.h"
#include "probes/languages/ruby/lines.h"
#include "probes/languages/v8/functions.h"

namespace memflame {
namespace {

constexpr uint64_t most_bytes = uint64_t{512} << 20U;  // a program may make functions all the time

bool is_character(uint32_t point) {
  return point < 0x110000 && (point < 0xd800 || point >= 0xe000);
}

uint64_t hash_of(const ScriptCode& code) {
  return mix(mix(hash_bytes(code.function), hash_bytes(code.file)),
             mix(hash_bytes(code.lines), code.first_line));
}

std::string text_of(const uint8_t* from, const bpf::script_text& text, size_t most) {
  const size_t bytes = std::min<size_t>(text.bytes, most);
  std::string result = python_text({from, bytes}, text.form);
  if (bytes == most) result += "…";  // it may be longer
  return result;
}

// The name of a function and its script, as V8's own stack traces have them.
void name_v8(const bpf::script_code_record& record, ScriptCode& code) {
  const auto text = [](const uint8_t* from, const bpf::script_text& of, size_t most) {
    const size_t bytes = std::min<size_t>(of.bytes, most);
    std::string result = v8_text({from, bytes}, of.form);
    if (bytes == most || (of.form & bpf::v8_text_cut) != 0) result += "…";
    return result;
  };
  constexpr std::string_view file_scheme = "file://";  // of modules
  code.language = ScriptCode::Language::javascript;
  code.function = text(record.name_text, record.name, bpf::max_script_name);
  if (code.function.empty()) code.function = "(anonymous)";
  code.file = text(record.file_text, record.file, bpf::max_script_file);
  if (code.file.starts_with(file_scheme)) code.file.erase(0, file_scheme.size());
  if (code.file.empty()) code.file = "[eval]";
  code.first_line = record.first_line;
}

std::string java_text(const uint8_t* from, size_t bytes) {
  bytes = std::min<size_t>(bytes, bpf::java_most_name);
  std::string result(reinterpret_cast<const char*>(from), bytes);
  if (bytes == bpf::java_most_name) result += "…";  // it may be longer
  return result;
}

// As Java prints it, but without the address that it adds to hidden classes, which is another one
// in each run.
std::string java_class(const uint8_t* from, size_t bytes) {
  std::string name = java_text(from, bytes);
  if (const size_t hidden = name.find("+0x"); hidden != std::string::npos) name.erase(hidden);
  std::ranges::replace(name, '/', '.');
  return name;
}

// The name and the file as Ruby's backtraces have them.
void name_ruby(const bpf::script_code_record& record, size_t line_bytes, ScriptCode& code,
               uint32_t& instructions) {
  const auto text = [](const uint8_t* from, const bpf::script_text& of, size_t most) {
    const size_t bytes = std::min<size_t>(of.bytes, most);
    std::string result(reinterpret_cast<const char*>(from), bytes);
    if (bytes == most) result = std::string(beginning(result, most - 1)) + "…";
    return result;
  };
  code.language = ScriptCode::Language::ruby;
  code.function = text(record.name_text, record.name, bpf::max_script_name);
  code.file = text(record.file_text, record.file, bpf::max_script_file);
  code.first_line = record.first_line;
  code.lines = ruby_lines({record.lines, line_bytes}, instructions);
}

// The name as PHP's backtraces have it; what has none is the code of a file outside of functions.
void name_php(const bpf::script_code_record& record, size_t class_bytes, ScriptCode& code) {
  const auto text = [](const uint8_t* from, size_t bytes, size_t most) {
    bytes = std::min(bytes, most);
    std::string result(reinterpret_cast<const char*>(from), bytes);
    if (bytes == most) result = std::string(beginning(result, most - 1)) + "…";
    if (const size_t end = result.find('\0'); end != std::string::npos) result.erase(end);
    return result;
  };
  code.language = ScriptCode::Language::php;
  code.function = text(record.name_text, record.name.bytes, bpf::max_script_name);
  if (code.function.empty()) {
    code.function = "{main}";
  } else if (class_bytes != 0) {
    // The name of a class without one goes on, behind a zero, with the place where it was made.
    code.function = text(record.lines, class_bytes, bpf::max_script_name) + "::" + code.function;
  }
  code.file = text(record.file_text, record.file.bytes, bpf::max_script_file);
  code.first_line = record.first_line;
}

// Since 3.12, Python may begin an object's __init__ from code of its own, which no stack of Python
// has. It is static, and its file is a name, too.
bool is_own_code(const ScriptCode& code) {
  return code.language == ScriptCode::Language::python && code.function == "__init__" &&
         code.file == "__init__";
}

const char* reason(uint32_t language, uint32_t end) {
  if (language == bpf::language_v8) return "[javascript: unreadable]";
  if (language == bpf::language_java)
    return end == bpf::script_virtual_thread ? "[virtual thread]" : "[java: unreadable]";
  if (language == bpf::language_ruby)
    return end == bpf::script_too_long ? "[ruby: too deep]" : "[ruby: unreadable]";
  if (language == bpf::language_php)
    return end == bpf::script_too_long ? "[php: too deep]" : "[php: unreadable]";
  return end == bpf::script_too_long ? "[python: too deep]" : "[python: unreadable]";
}

}  // namespace

std::string python_text(std::span<const uint8_t> text, uint32_t state) {
  const size_t width = state >> 2U & 7U;
  std::string result;
  if (width != 1 && width != 2 && width != 4) return result;
  for (size_t at = 0; at + width <= text.size(); at += width) {
    uint32_t point = 0;
    for (size_t i = 0; i < width; ++i) point |= uint32_t{text[at + i]} << (8 * i);
    append_utf8(result, is_character(point) ? point : 0xfffd);
  }
  return result;
}

std::string v8_text(std::span<const uint8_t> text, uint32_t form) {
  std::string result;
  if ((form & bpf::v8_text_wide) == 0) {
    for (const uint8_t point : text) append_utf8(result, point);
    return result;
  }
  const auto unit = [&](size_t at) { return uint32_t{text[at]} | uint32_t{text[at + 1]} << 8U; };
  for (size_t at = 0; at + 2 <= text.size(); at += 2) {
    uint32_t point = unit(at);
    // Characters beyond 0xffff are pairs: ten bits each.
    if (point >> 10U == 0x36 && at + 4 <= text.size() && unit(at + 2) >> 10U == 0x37) {
      point = 0x10000 + ((point & 0x3ffU) << 10U | (unit(at + 2) & 0x3ffU));
      at += 2;
    }
    append_utf8(result, is_character(point) ? point : 0xfffd);
  }
  return result;
}

void Scripts::take(const bpf::script_code_record& record, size_t size) {
  if (size < offsetof(bpf::script_code_record, lines)) return;
  const size_t lines =
      std::min<size_t>(size - offsetof(bpf::script_code_record, lines), bpf::max_script_lines);
  ScriptCode code;
  Known known;
  if (record.language == bpf::language_python && record.name.bytes != 0) {
    code.language = ScriptCode::Language::python;
    code.function = text_of(record.name_text, record.name, bpf::max_script_name);
    code.file = text_of(record.file_text, record.file, bpf::max_script_file);
    code.first_line = record.first_line;
    code.lines.assign(reinterpret_cast<const char*>(record.lines),
                      std::min<size_t>(lines, record.line_bytes));
  } else if (record.language == bpf::language_v8 && record.name.form != 0) {
    name_v8(record, code);
  } else if (record.language == bpf::language_java && record.name.form != 0) {
    return take_java(record, {record.lines, std::min<size_t>(lines, record.line_bytes)});
  } else if (record.language == bpf::language_ruby && record.name.form != 0) {
    name_ruby(record, std::min<size_t>(lines, record.line_bytes), code, known.instructions);
  } else if (record.language == bpf::language_php && record.name.form != 0) {
    name_php(record, std::min<size_t>(lines, record.line_bytes), code);
  } else {
    code.function = reason(record.language, bpf::script_unreadable);
    if (record.language != bpf::language_v8) ++unread_count_;
  }
  learn(record, std::move(code), known.instructions);
}

void Scripts::take_java(const bpf::script_code_record& record, std::span<const uint8_t> lines) {
  if (record.name.form == bpf::java_place_text) {
    std::vector<Place>& places = inlined_[record.space][record.code];
    places.clear();
    for (size_t at = 0; at + sizeof(bpf::java_inlined) <= lines.size();
         at += sizeof(bpf::java_inlined)) {
      bpf::java_inlined inlined{};
      std::memcpy(&inlined, lines.data() + at, sizeof(inlined));
      places.push_back({.method = inlined.method, .place = inlined.place});
    }
    return;
  }
  ScriptCode code;
  code.language = ScriptCode::Language::java;
  code.function = java_text(record.name_text, record.name.bytes);
  if (record.name.form == bpf::java_method_text) {
    code.function = java_class(record.file_text, record.file.form) + "." + code.function;
    code.file = java_text(record.file_text + bpf::java_most_name, record.file.bytes);
    code.lines =
        java_lines({reinterpret_cast<const char*>(lines.data()), lines.size()}, record.first_line);
    code.first_line = java_line(code.lines, script_no_place);
  }
  learn(record, std::move(code), 0);
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
  const uint32_t index = record.language == bpf::language_v8 ? intern_v8(record, std::move(code))
                                                             : intern(std::move(code));
  now_[record.space][record.code] = {.code = index, .instructions = instructions};
}

// Memory that was not there when a function was met first, may be there later: then the stacks so
// far get its name, too.
uint32_t Scripts::intern_v8(const bpf::script_code_record& record, ScriptCode code) {
  auto& unread = unread_[record.space];
  const auto known = unread.find(record.code);
  const bool is_known = known != unread.end() && known->second.thread == record.thread;
  if (code.language != ScriptCode::Language::none) {
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
    all_.push_back({.language = ScriptCode::Language::none,
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
  if (language == bpf::language_v8)
    if (const auto all = v8_calls_.find(space.index); all != v8_calls_.end())
      if (const auto found = all->second.find(code); found != all->second.end()) {
        for (const V8Place& each : found->second)
          to.push_back(place_of(space, each.key, each.place, language));
        return;
      }
  const bool has_place = language != bpf::language_v8 && !bpf::is_java_code(word);
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
