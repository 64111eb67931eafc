// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer for selections: all lines but the last are named ones, the last is applied to a few
// blocks. A selection and its opposite must divide the blocks between them.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/select/parse.h"
#include "collapse/select/selection.h"
#include "core/error.h"

namespace memflame {
namespace {

void require_that(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "select_fuzz: " << what << "\n";
  std::abort();
}

class FewBlocks : public BlockSource {
 public:
  FewBlocks() {
    recording_.spaces.emplace_back().comm = "server";
    recording_.frames.emplace_back();
    for (const char* function : {"main", "load"}) {
      recording_.locations.emplace_back().symbols = {
          {.function = function, .file = "a.cc", .module = "/bin/server"}};
      const LocationId location{static_cast<uint32_t>(recording_.locations.size() - 1)};
      RawStack& stack = recording_.stacks.emplace_back();
      stack.space = SpaceId{1};
      stack.pcs = {{location.index, false}};
      recording_.frames.push_back({location});
    }
    threads_.push_back({.space = SpaceId{1}, .tid = 812, .name = "server"});
    blocks_ = {Block{.allocated_ns = 1,
                     .end_ns = end,
                     .address = 16,
                     .size = 1,
                     .thread = ThreadId{1},
                     .stack = RawStackId{1}},
               Block{.allocated_ns = 2,
                     .freed_ns = 4,
                     .end_ns = 4,
                     .address = 32,
                     .size = 4096,
                     .weight = UINT64_MAX,
                     .count = UINT32_MAX,
                     .stack = RawStackId{2},
                     .freeing_stack = RawStackId{1}},
               // What a damaged recording may hold.
               Block{.allocated_ns = UINT64_MAX,
                     .freed_ns = 0,
                     .end_ns = 0,
                     .size = UINT64_MAX,
                     .thread = ThreadId{99},
                     .stack = RawStackId{99},
                     .freeing_stack = RawStackId{99}}};
  }

  RunFacts facts() const override {
    return {.recording = recording_, .threads = threads_, .marks = marks_, .end_ns = end};
  }
  bool has_addresses() override { return true; }
  bool has_free_stacks() override { return true; }
  void for_each_block(const VisitBlock& visit) override {
    for (const Block& block : blocks_) visit(block, {});
  }

 private:
  static constexpr uint64_t end = 100;
  Recording recording_;
  std::vector<Thread> threads_{Thread{}};
  std::vector<Mark> marks_{{5, "m"}};
  std::array<Block, 3> blocks_;
};

void check(std::string_view text) {
  Query query;
  while (true) {
    const size_t line = text.find('\n');
    if (line == std::string_view::npos) break;
    add_let(query, "--let", std::string(text.substr(0, line)));
    text.remove_prefix(line + 1);
  }
  Query opposite = query;
  add_where(query, "--where", std::string(text));
  FewBlocks run;
  const Selection selection = selection_of(query, run);
  try {
    add_where(opposite, "--where", "not (" + std::string(text) + ")");
  } catch (const Error&) {
    return;  // too deep, or too long
  }
  const Selection others = selection_of(opposite, run);
  run.for_each_block([&](const Block& block, const Chain& chain) {
    require_that(selection(block, chain) != others(block, chain),
                 "a block is in a selection and in its opposite, or in neither");
  });
}

}  // namespace
}  // namespace memflame

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  try {
    check({reinterpret_cast<const char*>(data), size});
  } catch (const Error& error) {
    require_that(error.exit_code == ExitCode::usage, "an error of the text is one of usage");
  }
  return 0;
}
