// SPDX-License-Identifier: BSD-2-Clause
#include <cstddef>
#include <span>

#include "core/error.h"
#include "probes/inside/agent_file.h"

extern "C" {
extern const std::byte memflame_agent_object[] __attribute__((weak));
extern const std::byte memflame_agent_object_end[] __attribute__((weak));
}

namespace memflame::inside {

std::span<const std::byte> agent_image() {
  if (memflame_agent_object == nullptr)
    throw Error("this memflame was built without its agent for --inside");
  return {memflame_agent_object, memflame_agent_object_end};
}

}  // namespace memflame::inside
