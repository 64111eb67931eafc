// SPDX-License-Identifier: BSD-2-Clause
// The pages of memflame top beside its list: a stack in full, and the help.
#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "render/text/cells.h"
#include "render/top/sparkline.h"
#include "render/top/top_history.h"
#include "render/top/top_layout.h"
#include "render/top/top_text.h"

namespace memflame {
namespace {

constexpr size_t indent = 6;
constexpr const char* help_text =
    "KEYS\n"
    "  up, down, PgUp, PgDn, Home, End   move; Home stays with the first row\n"
    "  Enter        show the callers of the stack, and what is known of it\n"
    "  s  <  >      sort by the next or the previous column\n"
    "  r            reverse the order\n"
    "  /  n  N      search all frames with a regular expression; next, previous\n"
    "  f            show only the stacks that the search finds\n"
    "  Esc          end the search; leave a page\n"
    "  w            write a picture of the live blocks (SVG)\n"
    "  space        hold the display; counting goes on\n"
    "  Ctrl-L       draw the screen again\n"
    "  q            end\n"
    "\n"
    "COLUMNS\n"
    "  LIVE         bytes that were allocated since counting began, and not freed\n"
    "  BLOCKS       the number of these blocks\n"
    "  GROWTH/min   how LIVE has changed in the last minute or so, per minute\n"
    "  the bars     LIVE over that time; they begin at 0 and end now\n"
    "  VERDICT      leak: some blocks never come back\n"
    "               can't tell: not enough was seen yet\n"
    "               cache: a cache or pool that is full\n"
    "               kept: blocks stay, but no more come\n"
    "               freed: old blocks were freed at the end\n"
    "               comes back: everything is freed after a while\n"
    "  STACK        the first function that is not the allocator's, and its callers\n"
    "\n"
    "> marks the selected row, * a row that the search finds.\n"
    "LOST counts what could not be followed. docs/top.md has more.\n";

const TopRow* selected_row(const TopData& data, const TopState& state) {
  for (const TopRow& row : data.rows)
    if (row.key == state.selected) return &row;
  return nullptr;
}

std::string with_error(const std::string& text, double error, const std::string& error_text) {
  return error > 0 ? text + " ± " + error_text : text;
}

std::string amount_of(const TopRow& row) {
  std::string text =
      with_error(iec_bytes(row.bytes), row.bytes_error, iec_bytes(rounded_up(row.bytes_error))) +
      " in " +
      with_error(with_commas(row.blocks), row.blocks_error,
                 with_commas(rounded_up(row.blocks_error))) +
      (row.blocks == 1 ? " block" : " blocks");
  if (row.growth) text += ", " + short_growth(*row.growth) + " per minute";
  if (row.names && !row.names->process.empty()) text += ", " + row.names->process;
  if (row.has_ended) text += ", which has ended";
  return text;
}

class Lines {
 public:
  Lines(size_t columns, bool utf8) : columns_(columns), utf8_(utf8) {}

  void add(const std::string& text, TopStyle style = TopStyle::plain) {
    for (std::string& line : wrapped(top_text(text, utf8_), columns_))
      lines_.push_back({{std::move(line), style}});
  }
  // Further lines of a long one are moved to the right.
  void add_frame(const std::string& text, bool is_place) {
    std::string before = is_place ? "  =>  " : std::string(indent, ' ');
    const size_t room = columns_ > 2 * indent ? columns_ - indent - 2 : columns_;
    for (const std::string& line : wrapped(top_text(text, utf8_), room)) {
      lines_.push_back({{before + line, is_place ? TopStyle::strong : TopStyle::plain}});
      before = std::string(indent + 2, ' ');
    }
  }
  std::vector<TopLine> take() { return std::move(lines_); }

 private:
  size_t columns_;
  bool utf8_;
  std::vector<TopLine> lines_;
};

}  // namespace

std::vector<TopLine> top_stack_page(const TopData& data, const TopState& state, size_t columns,
                                    bool utf8) {
  Lines lines(columns, utf8);
  const TopRow* row = selected_row(data, state);
  if (row == nullptr) {
    lines.add("This stack holds nothing any more, or too little for the list. Esc goes back.");
    return lines.take();
  }
  lines.add(amount_of(*row), TopStyle::strong);
  lines.add(row->sentence.empty() ? "no verdict on this stack" : row->sentence,
            row->verdict == VerdictKind::leak ? TopStyle::leak : TopStyle::plain);
  const int64_t most =
      row->series.empty() ? 0 : *std::max_element(row->series.begin(), row->series.end());
  lines.add(sparkline(row->series, TopHistory::most_points, std::min<size_t>(columns, 60), utf8));
  lines.add("live bytes in the last " + data.window + ", from 0 to " + iec_bytes(most));
  lines.add("");
  if (!row->names) {
    lines.add("The names are being looked up.");
    return lines.take();
  }
  lines.add(row->verdict == VerdictKind::leak
                ? "Callers, innermost first; => is where the leak comes from"
                : "Callers, innermost first; => is the code that wanted the memory",
            TopStyle::title);
  for (size_t i = 0; i < row->names->frames.size(); ++i)
    lines.add_frame(row->names->frames[i], i == row->names->place);
  return lines.take();
}

std::vector<TopLine> top_help_page(size_t columns, bool utf8) {
  std::vector<TopLine> lines;
  std::string_view rest = help_text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string line(rest.substr(0, end));
    const bool is_title = line == "KEYS" || line == "COLUMNS";
    lines.push_back(
        {{cut_right(line, columns, utf8), is_title ? TopStyle::title : TopStyle::plain}});
    rest.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace memflame
