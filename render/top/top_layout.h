// SPDX-License-Identifier: BSD-2-Clause
// From the state of memflame top to lines of text for a terminal of some size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "render/top/top_data.h"
#include "render/top/top_model.h"

namespace memflame {

// What a style says is also said in words: a terminal may have no colours.
enum class TopStyle : uint8_t { plain, strong, faint, title, selected, alarm, leak };

struct TopSpan {
  std::string text;
  TopStyle style = TopStyle::plain;
};
using TopLine = std::vector<TopSpan>;

// In cells.
struct TopSize {
  size_t columns = 80, rows = 24;
};

struct TopScreenful {
  std::vector<TopLine> lines;    // none is wider than the screen
  std::optional<size_t> cursor;  // column in the last line, while the user types
};

// How many lines each part of the screen has.
struct TopAreas {
  size_t head = 0, titles = 0, body = 0, others = 0, foot = 0;
};
TopAreas top_areas(const TopData& data, const TopState& state, TopSize size);

// Makes the selected row visible, and ends scrolling at the end of the text. To be called when the
// state, the data or the size have changed.
void settle_top(TopState& state, const TopData& data, TopSize size, bool utf8);

TopScreenful draw_top(const TopData& data, const TopState& state, TopSize size, bool utf8);

// The lines of the pages beside the list, all of them.
std::vector<TopLine> top_stack_page(const TopData& data, const TopState& state, size_t columns,
                                    bool utf8);
std::vector<TopLine> top_help_page(size_t columns, bool utf8);

// The lines as text, each with its newline.
std::string plain_text(const TopScreenful& screen);

}  // namespace memflame
