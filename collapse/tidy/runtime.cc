// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/tidy/rebuild.h"
#include "collapse/tidy/tidy.h"
#include "core/runtime_stacks.h"

namespace memflame {

Profile hide_runtime(Profile profile) {
  const FrameId native = native_frame(profile);
  RuntimeStacks folded = fold_runtime(profile, native);
  return with_stacks(std::move(profile), {std::move(folded.stacks), std::move(folded.place), {}});
}

}  // namespace memflame
