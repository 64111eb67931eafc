// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/perf_map.h"

#include "collapse/symbolize/text.h"

namespace memflame {
namespace {

// Cuts at a character, not inside one: bytes 10xxxxxx continue a UTF-8 character.
std::string_view cut(std::string_view name) {
  if (name.size() <= PerfMap::max_name) return name;
  size_t end = PerfMap::max_name;
  while (end > PerfMap::max_name - 4 && (static_cast<uint8_t>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end);
}

}  // namespace

PerfMap::PerfMap(std::string_view text) {
  std::vector<Span> spans;
  std::string_view line;
  while (next_line(text, line)) {
    uint64_t start = 0, size = 0, end = 0;
    if (!take_hex(line, start) || !take_hex(line, size) || line.empty() || size == 0) continue;
    if (__builtin_add_overflow(start, size, &end) || names_.size() == UINT32_MAX) continue;
    spans.push_back({start, end, static_cast<uint32_t>(names_.size())});
    names_.push_back(cut(line));
  }
  rows_ = flatten(std::move(spans), [](const Span& a, const Span& b) { return a.owner > b.owner; });
}

std::string_view PerfMap::find(uint64_t address) const {
  const Span* row = find_span(rows_, address);
  return row == nullptr ? std::string_view{} : names_[row->owner];
}

// Source: V8's src/logging/log.cc, ComputeMarker() and the tags of code events; --perf-basic-prof
// of node 8 to 22.
std::string without_tier(std::string_view name) {
  constexpr std::string_view markers = "~^+*";  // interpreted, Sparkplug, Maglev, TurboFan
  for (const std::string_view tag :
       {"JS:", "LazyCompile:", "Function:", "Eval:", "Script:", "InterpretedFunction:"}) {
    if (!name.starts_with(tag)) continue;
    std::string_view rest = name.substr(tag.size());
    if (!rest.empty() && markers.find(rest.front()) != std::string_view::npos)
      rest.remove_prefix(1);
    return std::string(tag) + std::string(rest);
  }
  return std::string(name);
}

}  // namespace memflame
