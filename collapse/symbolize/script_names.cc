// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/script_names.h"

#include "core/java_lines.h"
#include "core/python_lines.h"
#include "core/ruby_lines.h"

namespace memflame {
namespace {

uint32_t line_of(const ScriptCode& code, uint32_t place) {
  // A native method of Java has no lines, nor has other code of HotSpot.
  if (code.language == Language::java)
    return place == script_no_place ? 0 : java_line(code.lines, place);
  // A function that has not begun to run is at its first line.
  if (place == script_no_place) return code.first_line;
  if (code.language == Language::ruby) return ruby_line(code.lines, code.first_line, place);
  if (code.language == Language::php) return place;
  // Lines from the first one on.
  if (code.language == Language::javascript)
    return code.first_line == 0 ? 0 : code.first_line + place;
  return python_line(code.lines, code.first_line, place);
}

}  // namespace

Symbol script_symbol(const Recording& recording, const Pc& pc) {
  const uint32_t index = script_index(pc);
  if (index == 0 || index >= recording.scripts.size())
    return {
        .function = "[python: unreadable]", .file = {}, .kind = FrameKind::unknown, .module = {}};
  const ScriptCode& code = recording.scripts[index];
  if (code.language == Language::none)
    return {.function = code.function, .file = {}, .kind = FrameKind::unknown, .module = {}};
  Symbol symbol{.function = code.function,
                .file = code.file,
                .line = line_of(code, script_place(pc)),
                .start_line = code.first_line,
                .kind = FrameKind::user,
                .module = code.file};
  // Node's own scripts have no folders: node:internal/timers. Nor has Ruby's (eval at a/b.rb:5).
  const bool whole = code.file.starts_with("node:") || code.file.starts_with('(');
  std::string where = whole ? code.file : code.file.substr(code.file.rfind('/') + 1);
  if (symbol.line != 0) where += ":" + std::to_string(symbol.line);
  if (!where.empty()) symbol.function += " (" + where + ")";
  return symbol;
}

}  // namespace memflame
