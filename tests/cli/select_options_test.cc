// SPDX-License-Identifier: BSD-2-Clause
// Each option selects what its expression does, of the same blocks.
#include "cli/select_options.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "tests/collapse/select/made_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

namespace po = boost::program_options;

po::variables_map given(const std::vector<std::string>& words) {
  po::variables_map values;
  po::store(po::command_line_parser(words).options(select_options()).run(), values);
  return values;
}

// Blocks 1 (0 s to 2 s, 10 B), 2 (1 s to 5 s, 4 KiB, of another thread and stack) and 3 (4 s, never
// freed, 100 B), in a run of 100 s.
struct ThreeBlocks : MadeRun {
  ThreeBlocks() {
    const RawStackId load = stack({"main", "load"}), store = stack({"main", "store"});
    const ThreadId first = thread(812, "server"), second = thread(813, "worker");
    add({.allocated_ns = 0,
         .freed_ns = 2 * seconds_ns,
         .size = 10,
         .thread = first,
         .stack = load});
    add({.allocated_ns = 1 * seconds_ns,
         .freed_ns = 5 * seconds_ns,
         .size = 4096,
         .thread = second,
         .stack = store});
    add({.allocated_ns = 4 * seconds_ns, .size = 100, .thread = first, .stack = load});
  }
  std::vector<int> by(const std::vector<std::string>& words) {
    return selected(query_of(given(words)));
  }
};

using Numbers = std::vector<int>;

}  // namespace

TEST_CASE_FIXTURE(ThreeBlocks, "each option selects what its expression does") {
  struct Pair {
    std::vector<std::string> words;
    std::string expression;
    Numbers wanted;
  };
  const std::vector<Pair> pairs{
      {{"--leaked"}, "leaked", {3}},
      {{"--freed"}, "not leaked", {1, 2}},
      {{"--min-lifetime", "4s"}, "lifetime >= 4s", {2, 3}},
      {{"--max-lifetime", "2s"}, "lifetime <= 2s", {1}},
      {{"--min-size", "100"}, "size >= 100", {2, 3}},
      {{"--max-size", "100"}, "size <= 100", {1, 3}},
      {{"--through", "^lo"}, "function ~ \"^lo\"", {1, 3}},
      {{"--not-through", "^lo"}, "not function ~ \"^lo\"", {2}},
      {{"--by-thread", "813"}, "thread = 813", {2}},
      {{"--by-thread", "worker"}, "thread = \"worker\"", {2}},
      {{"--allocated-in", "1s..4s"}, "allocated in 1s..4s", {2, 3}},
      {{"--allocated-in", "..1s"}, "allocated <= 1s", {1, 2}},
      {{"--freed-in", "2s.."}, "freed in 2s..end", {1, 2}},
      {{"--live-at", "4s"}, "live at 4s", {2, 3}},
      {{"--where", "size < 50"}, "size < 50", {1}},
  };
  for (const Pair& pair : pairs) {
    CAPTURE(pair.expression);
    CHECK(by(pair.words) == pair.wanted);
    CHECK(selected(pair.expression) == pair.wanted);
  }
}

TEST_CASE_FIXTURE(ThreeBlocks, "all that is given must be true") {
  CHECK(by({}) == Numbers{1, 2, 3});
  CHECK(by({"--freed", "--min-size", "100"}) == Numbers{2});
  CHECK(by({"--min-size", "100", "--min-size", "1K"}) == Numbers{2});
  CHECK(by({"--leaked", "--freed"}).empty());
  CHECK(by({"--let", "small=size < 50", "--where", "not small"}) == Numbers{2, 3});
}

TEST_CASE("what is wrong is shown, with the option that has it") {
  const auto refused = [](const std::vector<std::string>& words) -> std::string {
    try {
      (void)query_of(given(words));
    } catch (const Error& error) {
      CHECK(error.exit_code == ExitCode::usage);
      return error.what();
    }
    return {};
  };
  CHECK(refused({"--let", "small=size < 50"}) ==
        "--let names a selection that nothing uses: --where 'NAME' applies it");
  CHECK(refused({"--min-size", "large"}).starts_with("--min-size"));
  CHECK(refused({"--live-at", "soon"}).starts_with("--live-at"));
  CHECK(refused({"--through", "("}).starts_with("--through"));
  CHECK(refused({"--where", "size >"}).starts_with("--where"));
}

TEST_CASE("the words of a selection can be given to another command") {
  const std::vector<std::string> words{
      "--where", "size > 4K and not leaked", "--leaked", "--min-size", "1K", "--min-size", "2K"};
  const std::vector<std::string> again = words_of_selection(given(words));
  CHECK(words_of_selection(given(again)) == again);
  CHECK(again == words);
  CHECK(words_of_selection(given({})).empty());
}
