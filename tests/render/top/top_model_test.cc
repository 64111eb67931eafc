// SPDX-License-Identifier: BSD-2-Clause
#include "render/top/top_model.h"

#include <doctest/doctest.h>

#include "tests/render/top/made_top.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::vector<uint64_t> keys(const TopData& data, const TopState& state) {
  std::vector<uint64_t> found;
  for (const size_t i : top_list(data, state).rows) found.push_back(data.rows[i].key);
  return found;
}
using Keys = std::vector<uint64_t>;

uint64_t selected(const TopData& data, const TopState& state) {
  const TopList list = top_list(data, state);
  return data.rows[list.rows[list.selected]].key;
}

TopWish type(TopState& state, const TopData& data, const std::string& letters) {
  TopWish wish = TopWish::none;
  for (const char letter : letters)
    wish = press(state, data, {TopKey::letter, std::string(1, letter)}, 2);
  return wish;
}
TopWish hit(TopState& state, const TopData& data, TopKey key) {
  return press(state, data, {key}, 2);
}

}  // namespace

TEST_CASE("each column sorts, numbers downwards and names upwards, and r turns it round") {
  const TopData data = made_top();
  TopState state;
  CHECK(keys(data, state) == Keys{2, 1, 3});
  type(state, data, "r");
  CHECK(keys(data, state) == Keys{3, 1, 2});
  type(state, data, "rs");  // blocks
  CHECK(state.sort == TopColumn::blocks);
  CHECK(keys(data, state) == Keys{2, 1, 3});
  type(state, data, ">");
  CHECK(keys(data, state) == Keys{1, 2, 3});  // growth
  type(state, data, "s");
  CHECK(keys(data, state) == Keys{1, 3, 2});  // the worst verdict first
  type(state, data, "s");
  CHECK(keys(data, state) == Keys{3, 2, 1});  // read_file, server::…, transcript_create
  type(state, data, "s");
  CHECK(state.sort == TopColumn::bytes);
  type(state, data, "<");
  CHECK(state.sort == TopColumn::name);
  hit(state, data, TopKey::right);
  CHECK(state.sort == TopColumn::bytes);
  for (size_t i = 0; i < top_columns; ++i)
    CHECK(top_column(word_of(static_cast<TopColumn>(i))) == static_cast<TopColumn>(i));
  CHECK_FALSE(top_column("size").has_value());
}

TEST_CASE("what is not known yet comes last") {
  TopData data = made_top();
  data.rows[0].growth.reset();
  data.rows[0].verdict.reset();
  data.rows[0].names.reset();
  TopState state;
  for (const TopColumn column : {TopColumn::growth, TopColumn::verdict, TopColumn::name}) {
    state.sort = column;
    CHECK(keys(data, state).back() == 1);
  }
}

TEST_CASE("the selection stays with its stack when the order changes") {
  TopData data = made_top();
  TopState state;
  CHECK(selected(data, state) == 2);
  hit(state, data, TopKey::down);
  CHECK(selected(data, state) == 1);
  data.rows[0].bytes = 99'000'000;
  CHECK(keys(data, state) == Keys{1, 2, 3});
  CHECK(selected(data, state) == 1);
  hit(state, data, TopKey::down);
  CHECK(selected(data, state) == 2);
  hit(state, data, TopKey::home);  // from now on the first row, whichever it is
  CHECK(selected(data, state) == 1);
  data.rows[1].bytes = 100'000'000;
  CHECK(selected(data, state) == 2);
  hit(state, data, TopKey::end);
  hit(state, data, TopKey::down);
  CHECK(selected(data, state) == 3);
  follow_selection(state, data, 2);
  data.rows.pop_back();  // it holds nothing any more
  CHECK(selected(data, state) == 1);
  data.rows.clear();
  hit(state, data, TopKey::up);
  hit(state, data, TopKey::enter);
  CHECK(state.page == TopPage::list);
  CHECK(top_list(data, state).rows.empty());
}

TEST_CASE("the list scrolls as far as the selection needs") {
  TopData data = made_top();
  for (uint64_t key = 4; key <= 10; ++key)
    data.rows.push_back(
        made_row(key, 1000 - static_cast<int64_t>(key), 1, 0, VerdictKind::kept, {"f"}));
  TopState state;
  const auto after = [&](TopKey key) {
    press(state, data, {key}, 4);
    follow_selection(state, data, 4);
    return std::pair(state.first, state.at);
  };
  CHECK(after(TopKey::page_down) == std::pair<size_t, size_t>(1, 4));
  CHECK(after(TopKey::end) == std::pair<size_t, size_t>(6, 9));
  CHECK(after(TopKey::page_down) == std::pair<size_t, size_t>(6, 9));
  CHECK(after(TopKey::up) == std::pair<size_t, size_t>(6, 8));
  CHECK(after(TopKey::page_up) == std::pair<size_t, size_t>(4, 4));
  CHECK(after(TopKey::home) == std::pair<size_t, size_t>(0, 0));
  follow_selection(state, data, 0);  // a screen without room
  CHECK(state.first == 0);
}

TEST_CASE("a search looks at all frames, goes from match to match, and can hide the rest") {
  const TopData data = made_top();
  TopState state;
  type(state, data, "/log_[io]n");
  CHECK(state.prompt == TopPrompt::search);
  hit(state, data, TopKey::enter);
  CHECK(state.prompt == TopPrompt::none);
  CHECK(selected(data, state) == 1);
  CHECK(top_list(data, state).matches == 1);
  type(state, data, "/main");
  hit(state, data, TopKey::enter);
  CHECK(selected(data, state) == 1);  // which matches, too
  type(state, data, "n");
  CHECK(selected(data, state) == 3);
  type(state, data, "n");
  CHECK(selected(data, state) == 2);
  type(state, data, "N");
  CHECK(selected(data, state) == 3);
  type(state, data, "/fill");
  hit(state, data, TopKey::enter);
  type(state, data, "f");
  CHECK(keys(data, state) == Keys{2});
  hit(state, data, TopKey::escape);
  CHECK(keys(data, state).size() == 3);
  CHECK(state.search.empty());
}

TEST_CASE("searches that cannot be") {
  const TopData data = made_top();
  TopState state;
  type(state, data, "n");
  CHECK(state.message == "there is no search: / begins one");
  type(state, data, "f");
  CHECK_FALSE(state.only_matches);
  type(state, data, "/a(");
  hit(state, data, TopKey::enter);
  CHECK(state.message.starts_with("'a(' is not a regular expression: "));
  CHECK_FALSE(state.pattern);
  type(state, data, "/nowhere");
  hit(state, data, TopKey::enter);
  type(state, data, "f");
  CHECK(keys(data, state).empty());
  type(state, data, "n");
  type(state, data, "/x");
  hit(state, data, TopKey::escape);  // the prompt, not the search
  CHECK(state.search == "nowhere");
  type(state, data, "/");
  hit(state, data, TopKey::enter);
  CHECK(state.search.empty());
  TopData unnamed = data;
  unnamed.rows[0].names.reset();
  CHECK(top_list(unnamed, state).unnamed == 1);
}

TEST_CASE("a prompt takes letters of any length, and takes them back") {
  const TopData data = made_top();
  TopState state;
  type(state, data, "/");
  press(state, data, {TopKey::letter, "ä"}, 2);
  type(state, data, "q");
  CHECK(state.typed == "äq");
  hit(state, data, TopKey::backspace);
  hit(state, data, TopKey::backspace);
  CHECK(state.typed.empty());
  CHECK(state.prompt == TopPrompt::search);
  hit(state, data, TopKey::backspace);
  CHECK(state.prompt == TopPrompt::none);
}

TEST_CASE("a picture goes to the proposed file or another, and replaces one only if told to") {
  const TopData data = made_top();
  TopState state;
  state.file = "a.svg";
  type(state, data, "w");
  CHECK(state.typed == "a.svg");
  CHECK(hit(state, data, TopKey::enter) == TopWish::picture);
  ask_to_replace(state);
  CHECK(type(state, data, "n") == TopWish::none);
  CHECK(state.message.find("a.svg stays as it is") != std::string::npos);
  ask_to_replace(state);
  CHECK(hit(state, data, TopKey::enter) == TopWish::none);
  ask_to_replace(state);
  CHECK(type(state, data, "y") == TopWish::replace);
  type(state, data, "wx");
  CHECK(hit(state, data, TopKey::enter) == TopWish::picture);
  CHECK(state.file == "a.svgx");
  type(state, data, "w");
  hit(state, data, TopKey::clear);
  CHECK(hit(state, data, TopKey::enter) == TopWish::none);
}

TEST_CASE("pages open and close, and q ends only from the list") {
  const TopData data = made_top();
  TopState state;
  hit(state, data, TopKey::enter);
  CHECK(state.page == TopPage::stack);
  CHECK(state.selected == 2);
  hit(state, data, TopKey::page_down);
  CHECK(state.scrolled == 2);
  hit(state, data, TopKey::up);
  CHECK(state.scrolled == 1);
  CHECK(type(state, data, "q") == TopWish::none);
  CHECK(state.page == TopPage::list);
  type(state, data, "h");
  CHECK(state.page == TopPage::help);
  CHECK(state.scrolled == 0);
  type(state, data, "?");
  CHECK(state.page == TopPage::list);
  type(state, data, " ");
  CHECK(state.is_paused);
  type(state, data, " ");
  CHECK_FALSE(state.is_paused);
  type(state, data, "x");
  CHECK(state.message == "h lists the keys");
  CHECK(type(state, data, "q") == TopWish::leave);
}
