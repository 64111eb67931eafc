// SPDX-License-Identifier: BSD-2-Clause
#include "render/outputs/svg_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/units.h"
#include "render/picture/caption.h"

namespace memflame {

std::string SvgPicture::name(const Box& box) const {
  if (box.merged != 0)
    return "(+" + with_commas(box.merged) + (box.merged == 1 ? " frame, " : " frames, ") +
           brief(box.total, profile.types[profile.shown]) + ")";
  if (!box.frame) return "all";
  const std::string& text = names[profile.frames[box.frame].function];
  return text.empty() ? "(no name)" : text;
}

BoxKind SvgPicture::kind(const Box& box) const {
  if (box.merged != 0) return BoxKind::merged;
  if (!box.frame) return BoxKind::process;
  const Frame& frame = profile.frames[box.frame];
  return box_kind(profile.strings[frame.function], frame.kind);
}

Rgb SvgPicture::colour(const Box& box, std::string_view text, std::span<const int64_t> sums) const {
  if (!by_change()) {
    if (!box.frame) return palette.colour(text, kind(box));
    return palette.colour(profile, profile.frames[box.frame], text);
  }
  if (!difference) {
    const auto net = static_cast<double>(sums[profile.shown]);
    return palette.change_colour(box.total == 0 ? 0 : net / static_cast<double>(box.total));
  }
  const auto before = static_cast<double>(sums[difference->before]);
  const auto after = static_cast<double>(sums[difference->after]);
  const double larger = std::max(std::fabs(before), std::fabs(after));
  return palette.change_colour(larger == 0 ? 0 : (after - before) / larger);
}

void append_px(std::string& out, double value) {
  std::array<char, 32> text{};
  // The shortest text of a number with two decimals has no more than those.
  const double rounded = std::round(value * 100) / 100;
  const std::to_chars_result end =
      std::to_chars(text.data(), text.data() + text.size(), rounded, std::chars_format::fixed);
  out.append(text.data(), end.ptr);
}

void append_attribute(std::string& out, std::string_view name, double value) {
  ((out += ' ') += name) += "=\"";
  append_px(out, value);
  out += '"';
}

void append_attribute(std::string& out, std::string_view name, std::string_view value) {
  ((out += ' ') += name) += "=\"";
  append_xml(out, value);
  out += '"';
}

void append_text(std::string& out, std::string_view css_class, double x, double y,
                 std::string_view text) {
  out += "<text";
  if (!css_class.empty()) append_attribute(out, "class", css_class);
  append_attribute(out, "x", x);
  append_attribute(out, "y", y);
  out += '>';
  append_xml(out, text);
  out += "</text>";
}

}  // namespace memflame
