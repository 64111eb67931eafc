// SPDX-License-Identifier: BSD-2-Clause
#include "render/top/top_layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/units.h"
#include "render/text/cells.h"
#include "render/timeline/ticks.h"
#include "render/top/sparkline.h"
#include "render/top/top_history.h"
#include "render/top/top_text.h"

namespace memflame {
namespace {

constexpr size_t least_rows = 9;  // for the whole head and the titles

// The widths of the list's columns, with a blank between two of them.
struct Widths {
  size_t marks = 2, live = 10, blocks = 9, growth = 11, series = 8, verdict = 10, name = 0;

  explicit Widths(size_t columns) {
    series = columns >= 160 ? 30 : columns >= 110 ? 20 : columns >= 90 ? 12 : 8;
    const size_t used = marks + live + blocks + growth + series + verdict + 5;
    name = columns > used ? columns - used : 0;
  }
};

class Drawing {
 public:
  Drawing(const TopData& data, const TopState& state, TopSize size, bool utf8)
      : data_(data), state_(state), size_(size), utf8_(utf8), widths_(size.columns) {}

  std::vector<TopLine> head(size_t lines) const;
  TopLine titles(const TopList& list) const;
  TopLine row(const TopList& list, size_t at) const;
  TopLine others() const;
  TopLine foot(const TopList& list, std::string_view position, std::optional<size_t>& cursor) const;

  // The line, which is cut if it is too long.
  TopLine fitted(TopLine line) const {
    size_t left = size_.columns;
    for (TopSpan& span : line) {
      span.text = cut_right(top_text(span.text, utf8_), left, utf8_);
      left -= std::min(left, cells(span.text));
    }
    return line;
  }

 private:
  TopLine first_line() const;
  TopLine figures() const;
  std::string name_cell(const TopRow& row) const;
  std::string search_in_words(const TopList& list) const;

  const TopData& data_;
  const TopState& state_;
  TopSize size_;
  bool utf8_;
  Widths widths_;
};

TopLine Drawing::first_line() const {
  std::string right = "collector: " + data_.collector + "  " +
                      time_text(std::floor(data_.seconds)) + "  " + data_.clock;
  if (state_.is_paused)
    right = "PAUSED at " + time_text(std::floor(data_.seconds)) + "; counting goes on ";
  const size_t room = size_.columns - std::min(size_.columns, cells(right) + 2);
  return {{filled(cut_right(top_text("memflame top: " + data_.program, utf8_), room, utf8_), room),
           TopStyle::strong},
          {"  "},
          {right, state_.is_paused ? TopStyle::alarm : TopStyle::plain}};
}

// What was lost comes first, because the end may not fit.
TopLine Drawing::figures() const {
  TopLine line;
  if (const uint64_t lost = data_.losses.lost_events(); lost != 0) {
    size_t worst = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < loss_info.size(); ++i)
      if (loss_info[i].kind == LossKind::missing &&
          data_.losses[static_cast<Loss>(i)].events > most) {
        worst = i;
        most = data_.losses[static_cast<Loss>(i)].events;
      }
    line.push_back({"LOST " + with_commas(static_cast<int64_t>(lost)) + ": " +
                        std::string(loss_info[worst].label) + (most < lost ? ", …" : ""),
                    TopStyle::alarm});
  } else {
    line.push_back({"lost 0"});
  }
  line.push_back({"   live "});
  line.push_back({iec_bytes(data_.live_bytes), TopStyle::strong});
  std::string rest =
      " in " + with_commas(data_.live_blocks) + (data_.live_blocks == 1 ? " block" : " blocks");
  if (data_.resident) rest += "   RSS " + iec_bytes(*data_.resident);
  if (data_.allocations_per_second)
    rest += "   " + with_commas(std::llround(*data_.allocations_per_second)) + " allocations/s";
  line.push_back({rest});
  return line;
}

std::vector<TopLine> Drawing::head(size_t lines) const {
  if (lines == 1) return {fitted(figures())};
  std::string third = data_.verdicts;
  const auto add = [&third](const std::string& text) {
    if (!text.empty()) third += (third.empty() ? "" : "; ") + text;
  };
  add(data_.sampling.empty() ? "" : "estimated from samples (" + data_.sampling + ")");
  add(data_.slower.empty() ? "" : "looks " + data_.slower + ", as they take long");
  return {fitted(first_line()), fitted(figures()), fitted({{third}})};
}

TopLine Drawing::titles(const TopList& list) const {
  TopLine line{{std::string(widths_.marks, ' '), TopStyle::title}};
  const auto title = [&](TopColumn column, const std::string& words, size_t width, bool right) {
    const bool sorts = state_.sort == column;
    // Numbers and verdicts go downwards, names go upwards.
    const bool is_down = (column == TopColumn::name) == state_.is_reversed;
    const std::string arrow = !sorts ? "" : is_down ? (utf8_ ? "▼" : "v") : (utf8_ ? "▲" : "^");
    const std::string text = right ? arrow + words : words + arrow;
    line.push_back({right ? filled_left(text, width) : filled(text, width), TopStyle::title});
    line.push_back({" ", TopStyle::title});
  };
  title(TopColumn::bytes, "LIVE", widths_.live, true);
  title(TopColumn::blocks, "BLOCKS", widths_.blocks, true);
  title(TopColumn::growth, "GROWTH/min", widths_.growth, true);
  const std::string window = (widths_.series > 8 ? "last " : "") + data_.window;
  line.push_back(
      {filled(cut_right(window, widths_.series, utf8_), widths_.series) + " ", TopStyle::title});
  title(TopColumn::verdict, "VERDICT", widths_.verdict, false);
  const size_t all = data_.rows.size() + data_.other_stacks;
  const std::string count = state_.only_matches ? std::to_string(list.rows.size()) + " of " : "";
  title(TopColumn::name, "STACK (" + count + with_commas(static_cast<int64_t>(all)) + ")",
        widths_.name, false);
  line.pop_back();
  return fitted(std::move(line));
}

// The function, and as many of its callers as there is room for. The process is named only if it is
// not that of the first line.
std::string Drawing::name_cell(const TopRow& row) const {
  if (!row.names) return "(names are being looked up)";
  const std::vector<std::string>& functions = row.names->functions;
  std::string text = row.has_ended ? "(ended) " : "";
  if (!data_.program.starts_with(row.names->process)) text += row.names->process + ": ";
  if (functions.empty()) return text + "(no frames)";
  text = top_text(text, utf8_);
  const size_t used = std::min(cells(text), widths_.name / 2);
  text = cut_right(text, used, utf8_) +
         cut_left(top_text(functions[0], utf8_), widths_.name - used, utf8_);
  for (size_t i = 1; i < functions.size(); ++i) {
    const std::string more = (utf8_ ? " ← " : " <- ") + top_text(functions[i], utf8_);
    if (cells(text) + cells(more) > widths_.name) break;
    text += more;
  }
  return text;
}

TopLine Drawing::row(const TopList& list, size_t at) const {
  const TopRow& row = data_.rows[list.rows[at]];
  const bool is_selected = at == list.selected;
  const TopStyle style = is_selected ? TopStyle::selected : TopStyle::plain;
  const bool leaks = row.verdict == VerdictKind::leak;
  const std::string growth = row.growth ? short_growth(*row.growth) : "-";
  std::string marks = is_selected ? ">" : " ";
  marks += is_match(row, state_) ? "*" : " ";
  TopLine line{{marks + filled_left(short_bytes(row.bytes), widths_.live) + " " +
                    filled_left(short_count(row.blocks, widths_.blocks), widths_.blocks) + " " +
                    filled_left(growth, widths_.growth) + " ",
                style},
               {sparkline(row.series, TopHistory::most_points, widths_.series, utf8_) + " ", style},
               {filled(std::string(row.verdict ? short_word(*row.verdict) : ""), widths_.verdict),
                leaks && !is_selected ? TopStyle::leak : style},
               {" " + filled(name_cell(row), widths_.name), style}};
  return fitted(std::move(line));
}

TopLine Drawing::others() const {
  return fitted({{"  " + filled_left(short_bytes(data_.other_bytes), widths_.live) + " " +
                      filled_left(short_count(data_.other_blocks, widths_.blocks), widths_.blocks) +
                      " on " + with_commas(static_cast<int64_t>(data_.other_stacks)) +
                      " more stacks, the smallest, which are not listed",
                  TopStyle::faint}});
}

std::string Drawing::search_in_words(const TopList& list) const {
  std::string text = "/" + state_.search + ": " + std::to_string(list.matches) +
                     (list.matches == 1 ? " stack matches" : " stacks match");
  if (list.unnamed != 0) text += ", " + std::to_string(list.unnamed) + " have no names yet";
  return text + "; n next, f " + (state_.only_matches ? "shows all" : "only these") +
         ", Esc ends the search";
}

TopLine Drawing::foot(const TopList& list, std::string_view position,
                      std::optional<size_t>& cursor) const {
  const auto prompt = [&](const std::string& question) -> TopLine {
    const size_t room = size_.columns - std::min(size_.columns, cells(question) + 1);
    const std::string typed = cut_left(top_text(state_.typed, utf8_), room, utf8_);
    cursor = cells(question) + cells(typed);
    return fitted({{question, TopStyle::strong}, {typed}});
  };
  switch (state_.prompt) {
    case TopPrompt::search:
      return prompt("search (a regular expression): ");
    case TopPrompt::picture:
      return prompt("write a picture to: ");
    case TopPrompt::overwrite:
      return prompt(state_.file + " exists. Replace it? y or n: ");
    case TopPrompt::none:
      break;
  }
  if (!state_.message.empty()) return fitted({{state_.message, TopStyle::strong}});
  std::string text =
      "q end  Enter callers  / search  s sort  r reverse  w picture  space hold  h help";
  if (state_.page != TopPage::list)
    text = "Esc back  arrows scroll  w picture  space hold  h help";
  else if (state_.pattern)
    text = search_in_words(list);
  text = cut_right(top_text(text, utf8_), size_.columns, utf8_);
  const std::string where = "  " + std::string(position);
  if (!position.empty() && cells(text) + cells(where) <= size_.columns)
    text = filled(text, size_.columns - cells(where)) + where;
  return {{text, TopStyle::faint}};
}

std::vector<TopLine> page_text(const TopData& data, const TopState& state, TopSize size,
                               bool utf8) {
  switch (state.page) {
    case TopPage::stack:
      return top_stack_page(data, state, size.columns, utf8);
    case TopPage::help:
      return top_help_page(size.columns, utf8);
    case TopPage::list:
      break;
  }
  return {};
}

}  // namespace

TopAreas top_areas(const TopData& data, const TopState& state, TopSize size) {
  TopAreas areas;
  const bool is_small = size.rows < least_rows;
  areas.head = is_small ? 1 : 3;
  areas.titles = is_small ? 0 : 1;
  areas.foot = size.rows > 1 ? 1 : 0;
  areas.others = !is_small && state.page == TopPage::list && data.other_stacks != 0 ? 1 : 0;
  const size_t used = areas.head + areas.titles + areas.foot + areas.others;
  areas.body = size.rows > used ? size.rows - used : 0;
  return areas;
}

void settle_top(TopState& state, const TopData& data, TopSize size, bool utf8) {
  const size_t body = top_areas(data, state, size).body;
  follow_selection(state, data, body);
  if (state.page == TopPage::list) return;
  const size_t lines = page_text(data, state, size, utf8).size();
  state.scrolled = std::min(state.scrolled, lines > body ? lines - body : 0);
}

TopScreenful draw_top(const TopData& data, const TopState& state, TopSize size, bool utf8) {
  const Drawing drawing(data, state, size, utf8);
  const TopAreas areas = top_areas(data, state, size);
  const TopList list = top_list(data, state);
  const bool in_list = state.page == TopPage::list;
  TopScreenful screen;
  std::vector<TopLine>& lines = screen.lines = drawing.head(areas.head);
  std::vector<TopLine> text = page_text(data, state, size, utf8);
  const size_t count = in_list ? list.rows.size() : text.size();
  const size_t last = count > areas.body ? count - areas.body : 0;
  const size_t first = std::min(in_list ? state.first : state.scrolled, last);
  if (areas.titles != 0) lines.push_back(in_list ? drawing.titles(list) : TopLine{});
  for (size_t i = 0; i < areas.body; ++i) {
    const bool has_line = first + i < count;
    lines.push_back(!has_line ? TopLine{}
                    : in_list ? drawing.row(list, first + i)
                              : drawing.fitted(std::move(text[first + i])));
  }
  if (areas.others != 0) lines.push_back(drawing.others());
  std::string position;
  if (count > areas.body && areas.body != 0)
    position = std::to_string(first + 1) + "-" + std::to_string(first + areas.body) + " of " +
               std::to_string(count);
  if (areas.foot != 0) lines.push_back(drawing.foot(list, position, screen.cursor));
  return screen;
}

std::string plain_text(const TopScreenful& screen) {
  std::string text;
  for (const TopLine& line : screen.lines) {
    for (const TopSpan& span : line) text += span.text;
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace memflame
