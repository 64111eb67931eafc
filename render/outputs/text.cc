// SPDX-License-Identifier: BSD-2-Clause
// The flame graph for a terminal: rows of cells, the root at the top. Boxes are separated by '|',
// or by colours where the terminal has them. A box that is narrower than a cell is not drawn, and
// counted.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/difference.h"
#include "core/units.h"
#include "render/order/source_lines.h"
#include "render/output.h"
#include "render/outputs/svg_parts.h"
#include "render/picture/blame.h"
#include "render/picture/callers_first.h"
#include "render/picture/folded_runtime.h"
#include "render/picture/short_name.h"
#include "render/text/cells.h"

namespace memflame {
namespace {

constexpr uint32_t most_levels = 64;  // a deeper picture is for a browser

class CellText {
 public:
  explicit CellText(const RenderOptions& options) : options_(options) {}

  // In the letters that the terminal has; control characters are replaced.
  std::string cleaned(std::string_view text) const {
    uint64_t replaced = 0;
    std::string clean = clean_text(text, replaced);
    if (options_.utf8) return clean;
    std::string plain;
    for (std::string_view rest = clean; !rest.empty();) {
      const std::string_view before = rest;
      const char32_t point = take_point(rest);
      plain += point == U'·' ? "|" : before.substr(0, before.size() - rest.size());
    }
    return ascii_only(plain);
  }

  // The name of a box as it fits into `room`; the terminal may have another mark for what is
  // missing.
  std::string shortened(const std::string& text, size_t room) const {
    if (cells(text) <= room) return text;
    const LetterWidth width = [](std::string_view letter) {
      return static_cast<double>(cells(letter));
    };
    std::string brief = short_name(text, static_cast<double>(room), width, options_.elide);
    constexpr std::string_view mark = "…";
    if (!options_.utf8)
      for (size_t at = brief.find(mark); at != std::string::npos; at = brief.find(mark, at))
        brief.replace(at, mark.size(), "~");
    return brief;
  }

  std::string fitted(const std::string& text, size_t room) const {
    std::string label = shortened(text, room);
    label.append(room - std::min(room, cells(label)), ' ');
    return label;
  }

 private:
  const RenderOptions& options_;
};

class TextPicture {
 public:
  TextPicture(std::ostream& out, const SvgPicture& picture)
      : out_(out),
        picture_(picture),
        text_(picture.options),
        last_(static_cast<size_t>(picture.options.columns) - (picture.options.truecolour ? 0 : 1)) {
  }

  void write() {
    write_head();
    if (picture_.layout.total == 0) return;
    const std::vector<Box>& boxes = picture_.layout.boxes;
    std::vector<std::vector<size_t>> rows(picture_.layout.depth);
    for (size_t i = 0; i < boxes.size(); ++i) {
      const Box& box = boxes[i];
      left_out_ += box.merged;
      if (begin_of(box) != end_of(box))
        rows[box.depth].push_back(i);
      else if (box.merged == 0)
        ++left_out_;
    }
    for (const std::vector<size_t>& row : rows)
      if (!row.empty()) picture_.options.truecolour ? write_coloured(row) : write_plain(row);
    if (left_out_ != 0)
      out_ << "not shown: " << with_commas(static_cast<int64_t>(left_out_))
           << (left_out_ == 1 ? " frame" : " frames") << " narrower than a column or beyond "
           << most_levels << " levels; -o graph.html has every frame\n";
  }

 private:
  // The title and the total in the first line; then what was lost, and what leaks.
  void write_head() {
    const Profile& profile = picture_.profile;
    const std::string& given = picture_.options.title;
    std::string line = given.empty() ? default_title(profile, true) : given;
    std::string further;
    bool has_total = false;
    for (const Caption& caption :
         captions(profile, picture_.layout, profile.losses, picture_.hidden)) {
      if (caption.text.empty() || caption.tone == Tone::detail) continue;
      if (caption.tone == Tone::figure && !has_total) {
        line += " · " + caption.text;
        has_total = true;
      } else {
        further += text_.cleaned(caption.text) + "\n";
      }
    }
    out_ << text_.cleaned(line) << "\n";
    if (!picture_.options.subtitle.empty())
      out_ << text_.cleaned(picture_.options.subtitle) << "\n";
    out_ << further;
  }

  // Both edges are rounded, not the width: neighbours then never overlap.
  size_t cell_of(int64_t offset) const {
    const double share = static_cast<double>(offset) / static_cast<double>(picture_.layout.total);
    return static_cast<size_t>(std::llround(share * static_cast<double>(last_)));
  }
  size_t begin_of(const Box& box) const { return cell_of(box.offset); }
  size_t end_of(const Box& box) const { return cell_of(box.offset + box.total); }

  // The name, and the figure if there is room for both.
  std::string label(size_t index, size_t room) const {
    const Box& box = picture_.layout.boxes[index];
    const std::string name = text_.cleaned(picture_.name(box));
    if (box.merged != 0) return text_.fitted(name, room);
    const std::string with_figure = name + " " + text_.cleaned(figure_of(index));
    return text_.fitted(cells(with_figure) <= room ? with_figure : name, room);
  }

  std::string figure_of(size_t index) const {
    const Profile& profile = picture_.profile;
    const Box& box = picture_.layout.boxes[index];
    if (!picture_.difference) return brief(box.total, profile.types[profile.shown]);
    const std::span<const int64_t> sums = picture_.layout.sums(index);
    int64_t change = 0;
    if (__builtin_sub_overflow(sums[picture_.difference->after], sums[picture_.difference->before],
                               &change))
      return "";
    return (change > 0 ? "+" : "") + brief(change, profile.types[picture_.difference->after]);
  }

  void write_plain(const std::vector<size_t>& row) {
    std::string line;
    size_t at = 0;
    bool closed = true;  // whether the box before needs no edge
    const auto close = [&] {
      if (!closed) line += '|', ++at;
      closed = true;
    };
    for (const size_t index : row) {
      const Box& box = picture_.layout.boxes[index];
      const size_t begin = begin_of(box), end = end_of(box);
      if (begin > at) close();
      line.append(begin - std::min(begin, at), ' ');
      line += '|';
      line += label(index, end - begin - 1);
      at = end;
      closed = false;
    }
    close();
    out_ << line << "\n";
  }

  void write_coloured(const std::vector<size_t>& row) {
    std::string line;
    size_t at = 0;
    for (const size_t index : row) {
      const Box& box = picture_.layout.boxes[index];
      const size_t begin = begin_of(box), end = end_of(box);
      line.append(begin - at, ' ');
      // The last cell keeps boxes of one colour apart.
      const size_t room = std::max<size_t>(end - begin - 1, 1);
      const Rgb colour = picture_.colour(box, picture_.name(box), picture_.layout.sums(index));
      line += "\x1B[30;48;2;" + std::to_string(colour.red) + ";" + std::to_string(colour.green) +
              ";" + std::to_string(colour.blue) + "m" + label(index, room) + "\x1B[0m";
      at = begin + room;
    }
    out_ << line << "\n";
  }

  std::ostream& out_;
  const SvgPicture& picture_;
  const CellText text_;
  const size_t last_;  // the column of the right edge
  uint64_t left_out_ = 0;
};

void draw_text(std::ostream& out, const Profile& given, const RenderOptions& wanted) {
  RenderOptions options = resolved(wanted, given);
  const FoldedRuntime runtime(given, options);
  const CallersFirst first(runtime.drawn(), options);
  const Profile& profile = first.profile();
  const Palette palette = palette_of(options);
  const CleanStrings names = clean_strings(profile);
  const CodeShares shares;
  const Width width = width_of(profile, options.diff_width);
  const FrameTree tree = frame_tree(profile, options.order, width);
  const BlamedTree blamed = blamed_tree(tree, profile, options);
  const bool hides = blamed.functions != 0;
  const FrameTree& drawn = hides ? blamed.tree : tree;
  Layout boxes = layout(drawn, profile,
                        {.min_share = 1.0 / options.columns,
                         .max_depth = std::min(options.max_depth, most_levels),
                         .order = options.order,
                         .width = options.diff_width});
  const LayoutOptions sums_only{.min_share = 2, .width = options.diff_width};
  if (runtime.hides())
    take_counts(boxes,
                layout(frame_tree(runtime.whole(), options.order, width), profile, sums_only));
  else if (hides)
    take_counts(boxes, layout(tree, profile, sums_only));
  SvgPicture picture{profile, options, palette, names, boxes, shares, drawn.lines};
  picture.difference = difference_of(profile);
  picture.hidden = first.note() + blame_note(blamed.functions, *options.blame, false);
  TextPicture(out, picture).write();
}

}  // namespace

void write_text(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  if (options.lines)
    draw_text(out, with_lines_in_names(profile), options);
  else
    draw_text(out, profile, options);
}

}  // namespace memflame
