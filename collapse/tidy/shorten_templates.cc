// SPDX-License-Identifier: BSD-2-Clause
// f<int>::g -> f<…>::g
#include <algorithm>

#include "collapse/tidy/name_scan.h"
#include "collapse/tidy/names.h"

namespace memflame {
namespace {

constexpr std::string_view dots = "<\u2026>";

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view w) { return text.starts_with(w); });
}

// After "::" angles hold arguments in Rust's f::<T>, but are names in X::<init> of Java,
// f()::<lambda(int)>, x::<impl Trait for T>::f and placeholders.
bool is_name_in_angles(std::string_view inside) {
  return inside == "init" || inside == "clinit" ||
         begins_with_any(inside, {"impl ", "lambda", "unnamed", "anonymous", "closure"});
}

// `operator_end`: where the last operator's name before it ends.
bool is_template(std::string_view name, const NameSpan& span, size_t operator_end) {
  if (span.begin == 0) return false;
  if (operator_end == span.begin) return true;
  const char before = name[span.begin - 1];
  if (before == ' ') return operator_end + 1 == span.begin && operator_end != 0;
  if (before == ':')
    return !is_name_in_angles(name.substr(span.begin + 1, span.end - span.begin - 2));
  return is_identifier(before) || before == ']' || before == '}';
}

}  // namespace

std::string shorten_templates(std::string_view name) {
  const std::optional<std::vector<NameSpan>> spans = scan_name(name);
  if (!spans) return std::string(name);
  std::string out;
  size_t at = 0, operator_end = 0;
  for (const NameSpan& span : *spans) {
    if (span.begin < at) continue;
    if (span.kind == SpanKind::operator_name) operator_end = span.end;
    if (span.kind != SpanKind::angle || !is_template(name, span, operator_end)) continue;
    const bool none = span.end - span.begin == 2;
    out += name.substr(at, span.begin - at);
    out += none ? "<>" : dots;
    at = span.end;
  }
  return out += name.substr(at);
}

}  // namespace memflame
