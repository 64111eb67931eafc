// SPDX-License-Identifier: BSD-2-Clause
// The boxes. Each is
//   <g data-o="offset" data-v="value"><title>name, figures</title><rect …/><text …>name</text></g>
// for readers without scripts: values as exact integers, and pixels. The first line of the title is
// the whole name; merged boxes have class="merged". All boxes in a row have the same depth, so the
// rows show who calls whom and no box repeats it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/units.h"
#include "render/order/source_lines.h"
#include "render/outputs/svg_parts.h"
#include "render/picture/caption.h"
#include "render/picture/column_words.h"
#include "render/picture/short_name.h"

namespace memflame {
namespace {

constexpr double padding = 4;  // between the edges of a box and its text

// The width of one letter in the fixed-width fonts that picture.css asks for.
double cell_ems(std::string_view letter) {
  const auto lead = static_cast<unsigned char>(letter[0]);
  if (lead < 0x80) return 0.62;
  return lead < 0xE0 ? 0.8 : 1.4;
}

class Rows {
 public:
  Rows(std::ostream& out, const SvgPicture& picture)
      : out_(out),
        picture_(picture),
        type_(picture.profile.types[picture.profile.shown]),
        scale_(picture.inner_width() / static_cast<double>(picture.layout.total)),
        text_y_(picture.options.font_size + 0.5 +
                (picture.row_height() - picture.options.font_size - 7) / 2),
        callers_(callers_of(picture.layout.boxes)) {}

  void write(double top) {
    const std::vector<Box>& boxes = picture_.layout.boxes;
    std::vector<size_t> order(boxes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    // Boxes are depth-first, so equal depths stay in order from left to right.
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return boxes[a].depth < boxes[b].depth; });
    const uint32_t last = picture_.layout.depth - 1;
    size_t i = 0;
    for (uint32_t depth = 0; depth <= last; ++depth) {
      const uint32_t row = picture_.options.icicle ? depth : last - depth;
      buffer_ = "<g class=\"row\" transform=\"translate(0 ";
      append_px(buffer_, top + row * picture_.row_height());
      buffer_ += ")\">\n";
      for (; i < order.size() && boxes[order[i]].depth == depth; ++i) append_box(order[i]);
      buffer_ += "</g>\n";
      out_ << buffer_;
    }
  }

 private:
  void append_box(size_t index) {
    const Box& box = picture_.layout.boxes[index];
    const std::string name = picture_.name(box);
    buffer_ += box.merged != 0 ? "<g class=\"merged\" data-o=\"" : "<g data-o=\"";
    buffer_ += std::to_string(box.offset);
    buffer_ += "\" data-v=\"";
    buffer_ += std::to_string(box.total);
    buffer_ += "\"><title>";
    if (!picture_.options.name_type.empty()) append_clean(picture_.options.name_type + " ");
    append_xml(buffer_, name);
    append_figures(index);
    if (!picture_.verdicts.empty() && !picture_.verdicts[index].empty())
      append_clean("\n" + picture_.verdicts[index]);
    const NameAttributes* attributes = attributes_of(box, name);
    if (attributes != nullptr && !attributes->title.empty()) append_clean("\n" + attributes->title);
    buffer_ += "</title>";
    if (attributes != nullptr && !attributes->href.empty()) append_link(*attributes);
    buffer_ += "<rect";
    // Both edges are rounded, not the width: neighbours then never overlap.
    const double left = SvgPicture::margin + static_cast<double>(box.offset) * scale_;
    const double width = static_cast<double>(box.total) * scale_;
    append_attribute(buffer_, "x", left);
    append_attribute(buffer_, "width", width - std::min(0.8, width / 8));
    append_attribute(buffer_, "height", picture_.row_height() - 1);
    append_attribute(buffer_, "fill", hex(picture_.colour(box, name, picture_.layout.sums(index))));
    buffer_ += "/>";
    const std::string text = label(mark(index), name, width - 2 * padding);
    if (!text.empty()) append_text(buffer_, "", left + padding, text_y_, text);
    if (attributes != nullptr && !attributes->href.empty()) buffer_ += "</a>";
    buffer_ += "</g>\n";
  }

  void append_clean(const std::string& text) {
    uint64_t replaced = 0;
    size_t from = text.starts_with('\n') ? 1 : 0;
    buffer_.append(text, 0, from);
    append_xml(buffer_, clean_text(std::string_view(text).substr(from), replaced));
  }

  const NameAttributes* attributes_of(const Box& box, const std::string& name) const {
    const auto found = picture_.options.attributes.find(name);
    return box.frame && found != picture_.options.attributes.end() ? &found->second : nullptr;
  }

  // For readers without scripts; the script's boxes zoom, and have links in a menu.
  void append_link(const NameAttributes& attributes) {
    buffer_ += "<a";
    append_attribute(buffer_, "href", attributes.href);
    append_attribute(buffer_, "target", attributes.target.empty() ? "_top" : attributes.target);
    buffer_ += " rel=\"noopener noreferrer\">";
  }

  // A mark for the change of a box, or for the sign of its net value: not everybody sees the
  // colours.
  std::string mark(size_t index) const {
    const std::span<const int64_t> sums = picture_.layout.sums(index);
    const Box& box = picture_.layout.boxes[index];
    if (box.merged != 0) return "";
    if (!picture_.difference) {
      const int64_t net = picture_.layout.width == WidthOf::size ? sums[picture_.profile.shown] : 0;
      return net > 0 ? "+ " : net < 0 ? "− " : "";
    }
    const int64_t before = sums[picture_.difference->before];
    const int64_t after = sums[picture_.difference->after];
    if (before == after) return "";
    return before == 0 ? "★ " : after == 0 ? "✕ " : after > before ? "+ " : "− ";
  }

  // Lines of the tooltip below the name.
  void append_figures(size_t index) {
    const Box& box = picture_.layout.boxes[index];
    const std::span<const int64_t> sums = picture_.layout.sums(index);
    const size_t shown = picture_.profile.shown;
    const double error = picture_.profile.standard_error(shown, sums);
    (buffer_ += '\n') += figure(picture_.profile, shown, box.total, error);
    if (type_.unit == Unit::count && !picture_.options.count_name.empty())
      append_clean(" " + picture_.options.count_name);
    append_pages(box.total);
    append_shares(index);
    if (box.self != 0 && box.self != box.total) append_figure("self", box.self, type_);
    if (sums[shown] != box.total && !picture_.difference) append_figure("net", sums[shown], type_);
    if (picture_.difference) append_change(sums);
    for (size_t i = 0; i < sums.size() && !picture_.difference; ++i) {
      const ValueType& type = picture_.profile.types[i];
      uint64_t replaced = 0;
      if (i == shown || sums[i] == 0 || type.unit == Unit::variance) continue;
      append_figure(clean_text(column_words(type), replaced), sums[i], type);
      append_error(i, sums);
    }
    append_line(box);
    const std::string_view module = picture_.names[picture_.profile.frames[box.frame].module];
    if (module.empty()) return;
    buffer_ += '\n';
    append_xml(buffer_, module.substr(module.rfind('/') + 1));
  }

  // "reader.cc:37, 2 more lines"
  void append_line(const Box& box) {
    if (!box.frame) return;
    const size_t shown = picture_.profile.shown;
    const MainLine line = main_line(picture_.profile, picture_.lines, box.node, shown);
    if (!line.frame) return;
    const Frame& frame = picture_.profile.frames[line.frame];
    buffer_ += '\n';
    append_xml(buffer_, short_place(picture_.names[frame.file], frame.line));
    if (line.others != 0)
      buffer_ += ", " + with_commas(static_cast<int64_t>(line.others)) +
                 (line.others == 1 ? " more line" : " more lines");
  }

  // Estimates are rounded, so pages are not shown for them.
  void append_pages(int64_t total) {
    if (type_.unit != Unit::bytes || type_.decimals != 0 || type_.variance != no_column) return;
    if (total < page_bytes) return;
    const int64_t pages = (total - 1) / page_bytes + 1;
    ((buffer_ += ", ") += with_commas(pages)) += pages == 1 ? " page" : " pages";
  }

  // For the root's callees both shares are the same.
  void append_shares(size_t index) {
    const std::vector<Box>& boxes = picture_.layout.boxes;
    const auto total = static_cast<double>(boxes[index].total);
    (buffer_ += ", ") += percent(total, static_cast<double>(picture_.layout.total));
    if (boxes[index].depth < 2) return;
    (buffer_ += ", ") += percent(total, static_cast<double>(boxes[callers_[index]].total));
    buffer_ += " of parent";
  }

  // "before 5 KiB (5,120 B), after 3 KiB (3,072 B): -2 KiB (-2,048 B), -40.0 %"
  void append_change(std::span<const int64_t> sums) {
    const int64_t before = sums[picture_.difference->before];
    const int64_t after = sums[picture_.difference->after];
    buffer_ += "\nbefore " + exact(before, type_) + ", after " + exact(after, type_);
    int64_t delta = 0;
    if (__builtin_sub_overflow(after, before, &delta)) return;
    const char* sign = delta > 0 ? "+" : "";
    buffer_ += std::string(": ") + sign + exact(delta, type_);
    if (before > 0)
      buffer_ += std::string(", ") + sign +
                 percent(static_cast<double>(delta), static_cast<double>(before));
    if (after == 0 && before != 0) buffer_ += ", gone";
    if (before == 0 && after != 0) buffer_ += ", new";
  }

  void append_figure(std::string_view what, int64_t value, const ValueType& type) {
    buffer_ += '\n';
    append_xml(buffer_, what);
    (buffer_ += ' ') += human(value, {type.name, Unit::count, no_column, 1, type.decimals});
    buffer_ += type.unit == Unit::bytes         ? " B"
               : type.unit == Unit::pages       ? " pages"
               : type.unit == Unit::nanoseconds ? " ns"
                                                : "";
  }

  void append_error(size_t column, std::span<const int64_t> sums) {
    const Profile& profile = picture_.profile;
    const ValueType& type = profile.types[column];
    if (type.variance == no_column) return;
    buffer_ += " (± ";
    buffer_ += brief(rounded_up(profile.standard_error(column, sums)), type);
    buffer_ += ')';
  }

  // As much of the mark and the name as certainly fits; nothing if that is not worth reading.
  std::string label(const std::string& sign, std::string_view name, double room) const {
    const double ems = room / picture_.options.font_size;
    double used = 0;
    for (size_t at = 0; at < sign.size(); at += letter_size(std::string_view(sign).substr(at)))
      used +=
          ems_of(std::string_view(sign).substr(at, letter_size(std::string_view(sign).substr(at))));
    const std::string text = short_name(name, ems - used, letter_width_, picture_.options.elide);
    return text.empty() ? text : sign + text;
  }

  // The width of one letter. Another font may have letters of different widths.
  double ems_of(std::string_view letter) const {
    const bool is_own = picture_.options.font.empty();
    if (letter == "…") return is_own ? 0.62 : 0.9;
    return is_own ? cell_ems(letter) : text_width(letter, 1);
  }

  std::ostream& out_;
  const SvgPicture& picture_;
  const ValueType& type_;
  const double scale_;  // px per unit
  const LetterWidth letter_width_{[this](std::string_view letter) { return ems_of(letter); }};
  const double text_y_;  // of the names' base line in a row
  const std::vector<uint32_t> callers_;
  std::string buffer_;
};

}  // namespace

void write_svg_rows(std::ostream& out, const SvgPicture& picture, double top) {
  Rows(out, picture).write(top);
}

}  // namespace memflame
