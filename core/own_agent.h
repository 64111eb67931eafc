// SPDX-License-Identifier: BSD-2-Clause
// What memflame's agent is called in the processes that have it: a file in memflame's folder, or a
// memory file of a process that it came into. HASH: 16 digits.
#pragma once

#include <cstddef>
#include <string_view>

namespace memflame {

inline constexpr std::string_view agent_file_begins = "inside-", agent_file_ends = ".so";
inline constexpr std::string_view agent_memory_begins = "memflame-agent-";

inline constexpr size_t agent_hash_digits = 16;
inline bool begins_with_hash(std::string_view text) {
  return text.size() >= agent_hash_digits &&
         text.substr(0, agent_hash_digits).find_first_not_of("0123456789abcdef") ==
             std::string_view::npos;
}

// Its frames do not belong to the program: an agent that has given up still calls the allocator,
// and the kernel's probes may count there.
inline bool is_own_agent(std::string_view path) {
  constexpr std::string_view folder = "/memflame/", memory = "/memfd:";
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return false;
  std::string_view name = path.substr(slash);
  const auto skip = [](std::string_view& text, std::string_view beginning) {
    const bool has = text.starts_with(beginning);
    if (has) text.remove_prefix(beginning.size());
    return has;
  };
  if (slash == 0 && skip(name, memory))
    return skip(name, agent_memory_begins) && begins_with_hash(name);
  return skip(name, "/") && path.substr(0, slash + 1).ends_with(folder) &&
         skip(name, agent_file_begins) && begins_with_hash(name) &&
         name.substr(agent_hash_digits) == agent_file_ends;
}

}  // namespace memflame
