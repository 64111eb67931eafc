// SPDX-License-Identifier: BSD-2-Clause
#include "core/allocator_list.h"

#include <algorithm>

#include "core/embedded_file.h"
#include "core/error.h"

namespace memflame {
namespace {

// The name without what the loader, the compiler and tools append to it.
std::string_view plain_name(std::string_view function) {
  for (const std::string_view tail :
       {"@", "+0x", " [clone ", ".part.", ".isra.", ".constprop.", ".cold", ".llvm."}) {
    const size_t at = function.find(tail);
    if (at != std::string_view::npos && at != 0) function = function.substr(0, at);
  }
  return function;
}

// '*' stands for any text. If a later part does not fit, only the last '*' can take more: the
// earlier ones already took the least possible.
bool fits(std::string_view pattern, std::string_view text) {
  size_t in_pattern = 0, in_text = 0;
  size_t star = std::string_view::npos, taken = 0;
  while (in_text < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      if (in_pattern == pattern.size()) return true;
      taken = in_text;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == text[in_text]) {
      ++in_pattern;
      ++in_text;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      in_text = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

std::string_view trimmed(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

uint8_t first_byte(std::string_view text) { return static_cast<uint8_t>(text.front()); }

}  // namespace

void AllocatorList::add(std::string_view text, const std::string& origin) {
  constexpr size_t longest = 4096;  // bounds the cost of matching per byte of a name
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const bool takes_out = line.front() == '!';
    if (takes_out) line = trimmed(line.substr(1));
    if (line.empty() || line.size() > longest || line.find('\0') != std::string_view::npos)
      throw Error(origin + ": line " + std::to_string(number) +
                  " is not a function name; one per line, '*' for any text");
    const size_t at = takes_out_.size();
    takes_out_.push_back(takes_out);
    if (line.find('*') == std::string_view::npos)
      exact_.insert_or_assign(std::string(line), at);
    else
      wild_[first_byte(line)].push_back({std::string(line), at});
  }
}

bool AllocatorList::contains(std::string_view function) const {
  const std::string_view name = plain_name(function);
  if (name.empty()) return false;
  size_t best = 0;  // line + 1
  if (const auto found = exact_.find(name); found != exact_.end()) best = found->second + 1;
  for (const uint8_t bucket : {first_byte(name), first_byte("*")}) {
    const std::vector<Wild>& lines = wild_[bucket];
    for (size_t i = lines.size(); i-- > 0 && lines[i].line >= best;) {
      if (!fits(lines[i].text, name)) continue;
      best = lines[i].line + 1;
      break;
    }
  }
  return best != 0 && !takes_out_[best - 1];
}

const AllocatorList& builtin_allocators() {
  static const AllocatorList list = [] {
    AllocatorList made;
    for (const EmbeddedFile& file : embedded_allocators())
      made.add(file.text, std::string(file.name));
    return made;
  }();
  return list;
}

}  // namespace memflame
