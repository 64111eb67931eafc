// SPDX-License-Identifier: BSD-2-Clause
#include "render/output.h"

#include "core/error.h"
#include "core/units.h"
#include "render/choose_output.h"

namespace memflame {
namespace {

constexpr Output table[] = {
#define OUTPUT(name, suffix, help, holds) {#name, suffix, help, write_##name, holds},
#include "render/outputs.def"
#undef OUTPUT
};

}  // namespace

std::span<const Output> outputs() { return table; }

const Output& output_for(std::string_view format, std::string_view path) {
  return chosen_output<Output>(table, format, path, table[0]);
}

void require_short_lists(const Output& output, const Profile& profile) {
  // Larger than any output that a person or a tool has a use for.
  constexpr uint64_t most_frames = 1'000'000'000, deep = 10'000;
  if ((output.holds & sharing) != 0 || profile.stacks.size() <= deep) return;
  std::vector<uint32_t> depths(profile.stacks.size(), 0);
  for (uint32_t i = 1; i < depths.size(); ++i)
    depths[i] = depths[profile.stacks[StackId{i}].caller.index] + 1;
  uint64_t frames = 0;
  for (const StackId stack : profile.touched()) frames += depths[stack.index];
  const uint64_t stacks = profile.touched().size();
  if (frames < most_frames || frames / stacks < deep) return;
  throw Error(
      std::string(output.name) +
      " lists the frames of each stack: " + with_commas(static_cast<int64_t>(frames)) + " of " +
      with_commas(static_cast<int64_t>(stacks)) +
      " stacks; shorten deep stacks with --max-frames 1000 or --collapse-recursion, or write html, "
      "svg or tree, which have shared frames once");
}

}  // namespace memflame
