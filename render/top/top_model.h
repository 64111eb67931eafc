// SPDX-License-Identifier: BSD-2-Clause
// The state of memflame top's display, and what keys do to it: values, without a terminal.
#pragma once

#include <re2/re2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "render/top/top_data.h"

namespace memflame {

enum class TopColumn : uint8_t { bytes, blocks, growth, verdict, name };
inline constexpr size_t top_columns = 5;
std::string_view word_of(TopColumn column);  // "live", "blocks", "growth", "verdict", "name"
std::optional<TopColumn> top_column(std::string_view word);

enum class TopPage : uint8_t { list, stack, help };
enum class TopPrompt : uint8_t { none, search, picture, overwrite };

struct TopState {
  TopColumn sort = TopColumn::bytes;
  bool is_reversed = false;
  TopPage page = TopPage::list;
  TopPrompt prompt = TopPrompt::none;
  std::string typed;                        // at the prompt
  std::string file;                         // for the next picture
  std::string search;                       // as typed; "" = none
  std::shared_ptr<const re2::RE2> pattern;  // of the search
  bool only_matches = false;
  std::optional<uint64_t> selected;  // the key of a row; none: the first row, whichever that is
  size_t at = 0;                     // the place of the selected row in the list
  size_t first = 0;                  // the first line of the list on the screen
  size_t scrolled = 0;               // lines of the stack or the help above the screen
  bool is_paused = false;
  std::string message;  // until the next key
};

// The rows of the list: indices in TopData::rows, in order.
struct TopList {
  std::vector<size_t> rows;
  size_t matches = 0, unnamed = 0;  // of all rows; those without names match nothing yet
  size_t selected = 0;              // place in `rows`
};
TopList top_list(const TopData& data, const TopState& state);
bool is_match(const TopRow& row, const TopState& state);

enum class TopKey : uint8_t {
  letter,  // the text of TopPress
  up,
  down,
  left,
  right,
  page_up,
  page_down,
  home,
  end,
  enter,
  escape,
  backspace,
  clear,  // what is typed
};

struct TopPress {
  TopKey key = TopKey::letter;
  std::string letter{};  // clean
};

// What the display cannot do itself.
enum class TopWish : uint8_t {
  none,
  leave,
  picture,  // to TopState::file, if there is no such file
  replace,  // the same, and replace it
};

// `page`: the lines that the list, or the text, has on the screen.
TopWish press(TopState& state, const TopData& data, const TopPress& key, size_t page);

// Asks whether TopState::file, which exists, may be replaced.
void ask_to_replace(TopState& state);

// Makes the selected row visible, also when rows have moved.
void follow_selection(TopState& state, const TopData& data, size_t page);

}  // namespace memflame
