// SPDX-License-Identifier: BSD-2-Clause
#include <cstddef>
#include <span>

#include "probes/inside/exchange/agent_file.h"

extern "C" {
extern const std::byte memflame_agent_object[];
extern const std::byte memflame_agent_object_end[];
}

namespace memflame::inside {

std::span<const std::byte> agent_image() {
  return {memflame_agent_object, memflame_agent_object_end};
}

}  // namespace memflame::inside
