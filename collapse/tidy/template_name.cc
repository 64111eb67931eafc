// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/tidy/template_name.h"

#include <vector>

#include "collapse/tidy/name_scan.h"

namespace memflame {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The first two arguments between the angles `spans[at]`. Commas in inner brackets do not count.
std::array<std::string_view, 2> arguments_of(std::string_view text,
                                             const std::vector<NameSpan>& spans, size_t at) {
  const size_t end = spans[at].end - 1;
  std::array<std::string_view, 2> found;
  size_t count = 0, begin = spans[at].begin + 1, i = begin, inner = at + 1;
  while (count < found.size() && i <= end) {
    while (inner < spans.size() && spans[inner].begin < i) ++inner;
    if (inner < spans.size() && spans[inner].begin == i && spans[inner].end <= end) {
      i = spans[inner].end;
      continue;
    }
    if (i == end || text[i] == ',') {
      found[count++] = without_blanks(text.substr(begin, i - begin));
      begin = i + 1;
    }
    ++i;
  }
  return found;
}

}  // namespace

std::optional<TemplateName> template_name(std::string_view text) {
  const std::optional<std::vector<NameSpan>> spans = scan_name(text);
  if (!spans || spans->empty()) return std::nullopt;
  const NameSpan& first = spans->front();
  if (first.kind != SpanKind::angle || first.begin == 0) return std::nullopt;
  TemplateName out{text.substr(0, first.begin), arguments_of(text, *spans, 0),
                   text.substr(first.end)};
  if (out.name.ends_with("::")) out.name.remove_suffix(2);  // Rust's f::<T>
  return out;
}

}  // namespace memflame
