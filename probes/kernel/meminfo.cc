// SPDX-License-Identifier: BSD-2-Clause
#include "probes/kernel/meminfo.h"

#include <algorithm>
#include <charconv>

namespace memflame {

KernelMemory parse_meminfo(std::string_view text) {
  // "MemFree:         1234 kB"
  const auto bytes = [&](std::string_view name) -> int64_t {
    size_t at = 0;
    while (at != std::string_view::npos && !text.substr(at).starts_with(name)) {
      at = text.find('\n', at);
      if (at != std::string_view::npos) ++at;
    }
    if (at == std::string_view::npos) return 0;
    std::string_view rest = text.substr(at + name.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    int64_t kib = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), kib);
    return kib * 1024;
  };
  return {.free = bytes("MemFree:"),
          .slab = bytes("SReclaimable:") + bytes("SUnreclaim:"),
          .percpu = bytes("Percpu:"),
          .vmalloc = bytes("VmallocUsed:")};
}

}  // namespace memflame
