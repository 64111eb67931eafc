// SPDX-License-Identifier: BSD-2-Clause
// How wide captions are, and where their lines break.
#include <algorithm>

#include "render/picture/caption.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

// Widths of Verdana and DejaVu Sans, which are wider than other sans-serif fonts.
double em(char c) {
  const auto one_of = [c](std::string_view letters) {
    return letters.find(c) != std::string_view::npos;
  };
  if (one_of("fijlrtI .,:;|!'()[]/-")) return 0.42;
  if (one_of("mwMW@%")) return 1.0;
  if (one_of("+=<>~#^") || (c >= 'A' && c <= 'Z')) return 0.84;
  return 0.64;
}

// Where to break `text`, whose first `fits` bytes fit into the line: after the last separator or
// blank there, unless that leaves more than half of the line empty.
size_t line_end(std::string_view text, size_t fits) {
  if (text[fits] == ' ') return fits;
  for (const std::string_view separator : {" · ", " "}) {
    const size_t found = text.substr(0, fits).rfind(separator);
    if (found != std::string_view::npos && found > fits / 2) return found + separator.size();
  }
  return fits;
}

// The longest beginning that is not wider than `width`, but at least one letter.
std::string_view fitting(std::string_view clean, double font_size, double width) {
  size_t end = letter_size(clean);
  double used = text_width(clean.substr(0, end), font_size);
  while (end < clean.size()) {
    const size_t next = letter_size(clean.substr(end));
    used += text_width(clean.substr(end, next), font_size);
    if (used > width) break;
    end += next;
  }
  return clean.substr(0, end);
}

}  // namespace

double text_width(std::string_view clean, double font_size) {
  double ems = 0;
  for (const char c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      ems += em(c);
    else if (byte >=
             0xC0)  // a code point's first byte; letters outside ASCII may be two cells wide
      ems += byte < 0xE0 ? 0.9 : 1.4;
  }
  return ems * font_size;
}

std::vector<std::string> wrap(std::string_view clean, double font_size, double width,
                              size_t limit) {
  std::vector<std::string> lines;
  while (!clean.empty()) {
    const bool last = lines.size() + 1 == limit;
    if (text_width(clean, font_size) <= width) {
      lines.emplace_back(clean);
      break;
    }
    const std::string_view line = fitting(clean, font_size, width - (last ? 2 * font_size : 0));
    if (last) {
      lines.push_back(std::string(line) + "…");
      break;
    }
    const size_t end = line_end(clean, line.size());
    lines.emplace_back(clean.substr(0, end));
    clean.remove_prefix(std::min(clean.find_first_not_of(' ', end), clean.size()));
  }
  return lines;
}

}  // namespace memflame
