// SPDX-License-Identifier: BSD-2-Clause
#include "probes/kernel/leaf_name.h"

#include "probes/kernel/config.h"

namespace memflame {

std::string clean_cache_name(std::string_view bytes) {
  std::string text(bytes.substr(0, bytes.find('\0')));
  for (char& c : text)
    // A semicolon separates the frames of folded stacks, and a bracket ends the name here.
    if (c <= ' ' || c > '~' || c == ';' || c == '[' || c == ']') c = '?';
  return text;
}

std::string leaf_name(uint16_t leaf, std::string_view cache) {
  const uint32_t which = leaf & bpf::leaf_which;
  switch (leaf & ~bpf::leaf_which) {
    case bpf::leaf_cache:
      return cache.empty() ? "[slab]" : "[slab " + std::string(cache) + "]";
    case bpf::leaf_kmalloc:
      return "[kmalloc-" + std::to_string(which * 8) + "]";
    case bpf::leaf_large:
      return "[kmalloc order " + std::to_string(which) + "]";
    case bpf::leaf_pages:
      return "[pages order " + std::to_string(which) + "]";
    case bpf::leaf_movable:
      return "[movable pages order " + std::to_string(which) + "]";
    case bpf::leaf_percpu:
      return "[percpu]";
    case bpf::leaf_vmalloc:
      return "[vmalloc]";
    default:
      return "[unknown memory]";
  }
}

}  // namespace memflame
