// SPDX-License-Identifier: BSD-2-Clause
#include "render/top/top_model.h"

#include <algorithm>
#include <array>

#include "core/re2_text.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

constexpr std::array<std::string_view, top_columns> column_words{"live", "blocks", "growth",
                                                                 "verdict", "name"};
constexpr size_t longest_typed = 4096;

void select(TopState& state, const TopData& data, const TopList& list, size_t at) {
  if (list.rows.empty()) return;
  state.at = std::min(at, list.rows.size() - 1);
  state.selected = data.rows[list.rows[state.at]].key;
}

// Goes to the next row that matches, from the selected one on, around the ends.
void go_to_match(TopState& state, const TopData& data, bool backwards, bool may_stay) {
  if (!state.pattern) {
    state.message = "there is no search: / begins one";
    return;
  }
  const TopList list = top_list(data, state);
  const size_t count = list.rows.size();
  if (count == 0) return;
  for (size_t step = may_stay ? 0 : 1; step <= count; ++step) {
    const size_t at = (list.selected + (backwards ? count - step : step)) % count;
    if (is_match(data.rows[list.rows[at]], state)) return select(state, data, list, at);
  }
}

void clear_search(TopState& state) {
  state.search.clear();
  state.pattern.reset();
  state.only_matches = false;
}

void start_search(TopState& state, const TopData& data) {
  if (state.typed.empty()) return clear_search(state);
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto pattern = std::make_shared<const re2::RE2>(re2_text(state.typed), options);
  if (!pattern->ok()) {
    uint64_t replaced = 0;
    state.message = "'" + state.typed +
                    "' is not a regular expression: " + clean_text(pattern->error(), replaced);
    return;
  }
  state.search = state.typed;
  state.pattern = std::move(pattern);
  go_to_match(state, data, false, true);
}

void ask(TopState& state, TopPrompt prompt, std::string typed) {
  state.prompt = prompt;
  state.typed = std::move(typed);
}

void drop_last_letter(std::string& text) {
  if (text.empty()) return;
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  text.resize(at);
}

TopWish press_at_prompt(TopState& state, const TopData& data, const TopPress& press) {
  const TopPrompt prompt = state.prompt;
  if (prompt == TopPrompt::overwrite) {
    state.prompt = TopPrompt::none;
    if (press.key == TopKey::letter && (press.letter == "y" || press.letter == "Y"))
      return TopWish::replace;
    state.message = "not written: " + state.file + " stays as it is";
    return TopWish::none;
  }
  switch (press.key) {
    case TopKey::letter:
      if (state.typed.size() < longest_typed) state.typed += press.letter;
      break;
    case TopKey::backspace:
      if (state.typed.empty()) state.prompt = TopPrompt::none;
      drop_last_letter(state.typed);
      break;
    case TopKey::clear:
      state.typed.clear();
      break;
    case TopKey::escape:
      state.prompt = TopPrompt::none;
      break;
    case TopKey::enter:
      state.prompt = TopPrompt::none;
      if (prompt == TopPrompt::search) {
        start_search(state, data);
      } else if (!state.typed.empty()) {
        state.file = state.typed;
        return TopWish::picture;
      }
      break;
    default:
      break;
  }
  return TopWish::none;
}

void move_in_list(TopState& state, const TopData& data, TopKey key, size_t page) {
  const TopList list = top_list(data, state);
  const size_t at = list.selected;
  switch (key) {
    case TopKey::up:
      return select(state, data, list, at - std::min<size_t>(at, 1));
    case TopKey::down:
      return select(state, data, list, at + 1);
    case TopKey::page_up:
      return select(state, data, list, at - std::min(at, page));
    case TopKey::page_down:
      return select(state, data, list, at + page);
    case TopKey::end:
      return select(state, data, list, list.rows.size());
    default:  // home
      state.selected.reset();
      state.at = 0;
  }
}

// The layout knows how long a text is, and stops at its end.
void scroll(size_t& scrolled, TopKey key, size_t page) {
  switch (key) {
    case TopKey::up:
      scrolled -= std::min<size_t>(scrolled, 1);
      break;
    case TopKey::down:
      ++scrolled;
      break;
    case TopKey::page_up:
      scrolled -= std::min(scrolled, page);
      break;
    case TopKey::page_down:
      scrolled += page;
      break;
    case TopKey::end:
      scrolled = SIZE_MAX / 2;
      break;
    default:  // home
      scrolled = 0;
  }
}

void open_stack(TopState& state, const TopData& data) {
  const TopList list = top_list(data, state);
  if (list.rows.empty()) return;
  select(state, data, list, list.selected);
  state.page = TopPage::stack;
  state.scrolled = 0;
}

void sort_by(TopState& state, size_t steps) {
  state.sort = static_cast<TopColumn>((static_cast<size_t>(state.sort) + steps) % top_columns);
}

// Keys that mean the same on all pages. False if it is not one of them.
bool press_anywhere(TopState& state, char letter) {
  switch (letter) {
    case ' ':
      state.is_paused = !state.is_paused;
      return true;
    case 'w':
      ask(state, TopPrompt::picture, state.file);
      return true;
    case 'h':
    case '?':
      state.page = state.page == TopPage::help ? TopPage::list : TopPage::help;
      state.scrolled = 0;
      return true;
    default:
      return false;
  }
}

TopWish press_in_list(TopState& state, const TopData& data, char letter) {
  switch (letter) {
    case 'q':
      return TopWish::leave;
    case 's':
    case '>':
      sort_by(state, 1);
      break;
    case '<':
      sort_by(state, top_columns - 1);
      break;
    case 'r':
      state.is_reversed = !state.is_reversed;
      break;
    case '/':
      ask(state, TopPrompt::search, "");
      break;
    case 'n':
    case 'N':
      go_to_match(state, data, letter == 'N', false);
      break;
    case 'f':
      if (!state.pattern) state.message = "f shows only what a search finds: / begins one";
      state.only_matches = state.pattern && !state.only_matches;
      break;
    default:
      state.message = "h lists the keys";
  }
  return TopWish::none;
}

}  // namespace

std::string_view word_of(TopColumn column) { return column_words.at(static_cast<size_t>(column)); }

std::optional<TopColumn> top_column(std::string_view word) {
  for (size_t i = 0; i < column_words.size(); ++i)
    if (column_words.at(i) == word) return static_cast<TopColumn>(i);
  return std::nullopt;
}

TopWish press(TopState& state, const TopData& data, const TopPress& press, size_t page) {
  state.message.clear();
  if (state.prompt != TopPrompt::none) return press_at_prompt(state, data, press);
  const bool in_list = state.page == TopPage::list;
  switch (press.key) {
    case TopKey::letter: {
      const char letter = press.letter.size() == 1 ? press.letter[0] : '\0';
      if (press_anywhere(state, letter)) return TopWish::none;
      if (in_list) return press_in_list(state, data, letter);
      if (letter == 'q') state.page = TopPage::list;
      return TopWish::none;
    }
    case TopKey::enter:
      if (in_list)
        open_stack(state, data);
      else
        state.page = TopPage::list;
      return TopWish::none;
    case TopKey::escape:
      if (in_list)
        clear_search(state);
      else
        state.page = TopPage::list;
      return TopWish::none;
    case TopKey::left:
    case TopKey::right:
      if (in_list) sort_by(state, press.key == TopKey::right ? 1 : top_columns - 1);
      return TopWish::none;
    case TopKey::backspace:
    case TopKey::clear:
      return TopWish::none;
    default:
      if (in_list)
        move_in_list(state, data, press.key, page);
      else
        scroll(state.scrolled, press.key, page);
      return TopWish::none;
  }
}

void ask_to_replace(TopState& state) { ask(state, TopPrompt::overwrite, ""); }

}  // namespace memflame
