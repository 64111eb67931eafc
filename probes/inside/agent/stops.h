// SPDX-License-Identifier: BSD-2-Clause
// The words that probes/unwind/step.h expects, for code outside of the kernel.
#pragma once

#include <stdint.h>  // NOLINT(modernize-deprecated-headers)

namespace memflame::inside {

using u64 = uint64_t;
using u32 = uint32_t;
using s64 = int64_t;

// In the order of StopReason (core/recording.h).
enum stop : uint32_t {
  stop_end,  // at the outermost frame
#define MEMFLAME_STOP(name, label, remedy) stop_##name,
#include "core/stops.def"
#undef MEMFLAME_STOP
};

}  // namespace memflame::inside
