// SPDX-License-Identifier: BSD-2-Clause
#include "core/inner_frame.h"

#include <algorithm>

#include "core/allocator_list.h"
#include "core/embedded_file.h"

namespace memflame {
namespace {

const AllocatorList& builtin_containers() {
  static const AllocatorList list = [] {
    AllocatorList made;
    for (const EmbeddedFile& file : embedded_containers())
      made.add(file.text, std::string(file.name));
    return made;
  }();
  return list;
}

bool is_word_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// "operator<" and the like: brackets after that word belong to the name.
bool is_operator(std::string_view name, size_t begin, size_t at) {
  constexpr std::string_view word = "operator";
  if (!name.substr(at).starts_with(word)) return false;
  if (at != begin && name[at - 1] != ':') return false;
  const size_t end = at + word.size();
  return end < name.size() && !is_word_letter(name[end]);
}

}  // namespace

std::string_view own_name(std::string_view function) {
  constexpr std::string_view anonymous = "(anonymous namespace)";
  size_t begin = 0, depth = 0;
  for (size_t i = 0; i < function.size(); ++i) {
    const char c = function[i];
    const bool closes = c == ')' || c == '}' || (c == '>' && i != 0 && function[i - 1] != '-');
    if (depth != 0) {
      if (closes) --depth;
      if (c == '(' || c == '<' || c == '{') ++depth;
      continue;
    }
    if (c == 'o' && is_operator(function, begin, i)) break;
    if (function.substr(i).starts_with(anonymous)) {
      i += anonymous.size() - 1;
    } else if (c == '<' || c == '{') {
      ++depth;
    } else if (c == '(') {
      const std::string_view before = function.substr(begin, i - begin);
      if (!before.empty() && before != "decltype") return before;
      ++depth;
    } else if (c == ' ') {
      if (function.substr(i).starts_with(" [")) return function.substr(begin, i - begin);
      begin = i + 1;
    }
  }
  const std::string_view name = function.substr(begin);
  return name.empty() ? function : name;
}

bool counts_memory(const Profile& profile) {
  return std::ranges::any_of(profile.types, [](const ValueType& type) {
    return type.unit == Unit::bytes || type.unit == Unit::pages;
  });
}

bool is_code(const Frame& frame) {
  return frame.kind != FrameKind::process && frame.kind != FrameKind::note;
}

InnerFrame inner_frame(const Profile& profile, const Frame& frame) {
  if (!is_code(frame)) return InnerFrame::other;
  const std::string_view function = profile.strings[frame.function];
  if (builtin_allocators().contains(function)) return InnerFrame::allocator;
  if (builtin_containers().contains(own_name(function))) return InnerFrame::container;
  return InnerFrame::other;
}

}  // namespace memflame
