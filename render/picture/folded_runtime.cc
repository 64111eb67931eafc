// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/folded_runtime.h"

#include <utility>

#include "core/runtime_stacks.h"
#include "core/script_files.h"

namespace memflame {
namespace {

bool has_scripts(const Profile& profile) {
  for (uint32_t i = 1; i < profile.frames.size(); ++i)
    if (is_script(profile, profile.frames[FrameId{i}])) return true;
  return false;
}

Profile folded(const Profile& from, RuntimeStacks stacks) {
  Profile out = without_stacks(from);
  out.stacks = std::move(stacks.stacks);
  const auto place = [&](StackId stack) { return stacks.place[stack.index]; };
  for (size_t i = 0; i < from.rows(); ++i) out.add(place(from.row(i).stack), from.row(i).values);
  move_stacks(out.findings, place);
  out.marks = moved_marks(from.marks, place);
  return out;
}

}  // namespace

FoldedRuntime::FoldedRuntime(const Profile& given, const RenderOptions& options) : given_(given) {
  if (options.order == Neighbours::by_time || !has_scripts(given)) return;
  Profile whole = given;
  const FrameId native = native_frame(whole);
  RuntimeStacks stacks = fold_runtime(whole, native);
  if (!stacks.any) return;
  native_ = native;
  whole_ = std::move(whole);
  if (options.runtime == Runtime::folded) folded_ = folded(*whole_, std::move(stacks));
}

}  // namespace memflame
