// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/folded/folded_names.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace memflame {
namespace {

ptrdiff_t open_brackets(std::string_view text) {
  return std::count(text.begin(), text.end(), '[') - std::count(text.begin(), text.end(), ']');
}

}  // namespace

size_t common_prefix(std::string_view a, std::string_view b) {
  const size_t size = std::min(a.size(), b.size());
  size_t at = 0;
  constexpr size_t step = 32;
  while (at + step <= size && std::memcmp(a.data() + at, b.data() + at, step) == 0) at += step;
  for (; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
    uint64_t left = 0, right = 0;
    std::memcpy(&left, a.data() + at, sizeof left);
    std::memcpy(&right, b.data() + at, sizeof right);
    if (left != right) return at + static_cast<size_t>(std::countr_zero(left ^ right)) / 8;
  }
  while (at < size && a[at] == b[at]) ++at;
  return at;
}

bool length_follows(std::string_view stack, size_t semicolon) {
  const auto digit = [&](size_t i) { return stack[i] >= '0' && stack[i] <= '9'; };
  size_t at = semicolon + 1;
  if (at + 1 >= stack.size() || stack[at] != ' ' || !digit(at + 1)) return false;
  for (++at; at < stack.size() && (digit(at) || (stack[at] >= 'a' && stack[at] <= 'z'));) ++at;
  return at < stack.size() && stack[at] == ']';
}

size_t name_end(std::string_view stack, size_t begin) {
  ptrdiff_t open = 0;
  size_t counted = begin;  // the brackets before this are in `open`
  for (size_t at = begin;; ++at) {
    at = stack.find(';', at);
    if (at == std::string_view::npos) return stack.size();
    if (!length_follows(stack, at)) return at;
    open += open_brackets(stack.substr(counted, at - counted));
    counted = at;
    if (open <= 0) return at;
  }
}

bool follows_in_order(std::string_view before, std::string_view stack) {
  size_t old_begin = 0, begin = 0;
  while (true) {
    const size_t old_end = name_end(before, old_begin), end = name_end(stack, begin);
    const std::string_view old_name = before.substr(old_begin, old_end - old_begin);
    const std::string_view name = stack.substr(begin, end - begin);
    if (name != old_name) return name > old_name;
    if (old_end == before.size()) return true;
    if (end == stack.size()) return false;
    old_begin = old_end + 1;
    begin = end + 1;
  }
}

}  // namespace memflame
