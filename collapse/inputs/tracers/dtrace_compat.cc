// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/tracers/dtrace_compat.h"

#include <array>

#include "collapse/inputs/text_reader.h"

namespace memflame {
namespace {

constexpr size_t header_lines = 3;

// Cuts from the last '(' or '<' after the first "::".
std::string_view without_arguments(std::string_view name) {
  const size_t scope = name.find("::");
  if (scope == std::string_view::npos) return name;
  const size_t open = name.find_last_of("(<");
  return open == std::string_view::npos || open < scope + 2 ? name : name.substr(0, open);
}

// "::h" and 16 hex digits at the end of names made by rustc.
std::string_view without_hash(std::string_view name) {
  constexpr size_t digits = 16;
  constexpr std::string_view mark = "::h";
  if (name.size() < digits + mark.size()) return name;
  const size_t at = name.size() - digits - mark.size();
  const bool hash = name.substr(at).starts_with(mark) && is_hex(name.substr(at + mark.size()));
  return hash ? name.substr(0, at) : name;
}

// The escapes in rustc's names that C++ demanglers leave.
struct RustEscape {
  std::string_view text, meaning;
};
constexpr std::array<RustEscape, 16> rust_escapes{{{"$SP$", "@"},
                                                   {"$BP$", "*"},
                                                   {"$RF$", "&"},
                                                   {"$LT$", "<"},
                                                   {"$GT$", ">"},
                                                   {"$LP$", "("},
                                                   {"$RP$", ")"},
                                                   {"$C$", ","},
                                                   {"$u7e$", "~"},
                                                   {"$u20$", " "},
                                                   {"$u27$", "'"},
                                                   {"$u5b$", "["},
                                                   {"$u5d$", "]"},
                                                   {"$u7b$", "{"},
                                                   {"$u7d$", "}"},
                                                   {"$u3b$", ";"}}};

const RustEscape* escape_at(std::string_view text) {
  for (const RustEscape& escape : rust_escapes)
    if (text.starts_with(escape.text)) return &escape;
  return nullptr;
}

std::string unescaped(std::string_view name) {
  if (name.find('$') == std::string_view::npos) return std::string(name);
  std::string out;
  const size_t tick = name.find('`');
  for (size_t i = 0; i < name.size();) {
    const std::string_view rest = name.substr(i);
    const bool first = i == (tick == std::string_view::npos ? 0 : tick + 1);
    if (const RustEscape* escape = escape_at(rest)) {
      out += escape->meaning;
      i += escape->text.size();
    } else if (rest.starts_with("..")) {
      out += "::";
      i += 2;
    } else if (first && rest.starts_with("_$")) {
      ++i;
    } else {
      out += name[i++];
    }
  }
  return out;
}

std::string frame_name(std::string_view line) {
  std::string_view name = line.substr(0, line.rfind('+'));
  name = without_arguments(trimmed(name));
  name = without_hash(trimmed(name));
  return name.empty() ? "-" : unescaped(name);
}

}  // namespace

Profile read_dtrace_compat(Source& source, const ReadOptions& options) {
  TextReader reader(source, options);
  Profile& profile = reader.profile;
  profile.types = {options.type.value_or(ValueType{"count", Unit::count})};
  std::vector<FrameId> frames;
  reader.each_line([&](std::string_view line) {
    const std::string_view text = trimmed(line);
    if (reader.lines.number() <= header_lines || text.empty()) return;
    if (text.find_first_not_of("0123456789") != std::string_view::npos) {
      frames.push_back(reader.frames.get(line, [&](std::string_view whole) {
        Frame frame;
        frame.function = profile.strings.intern(frame_name(whole));
        return profile.frames.intern(frame);
      }));
      return;
    }
    profile.add(push_leaf_first(profile, {}, frames), std::array{integer(text).value_or(0)});
    frames.clear();
  });
  if (!frames.empty()) {
    reader.bad("a stack without its value");
    reader.cut_off("it has no value and is left out");
  }
  return reader.finish("stack with a number below it");
}

}  // namespace memflame
