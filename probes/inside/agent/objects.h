// SPDX-License-Identifier: BSD-2-Clause
// What is loaded, for a thread that may call dl_iterate_phdr().
#pragma once

#include "loaded.h"
#include "probes/inside/exchange/symbol_lookup.h"

namespace memflame::inside {

// What is mapped can be read as it is.
struct OwnMemory {
  template <class T>
  bool read(uint64_t address, T& to) const {
    __builtin_memcpy(&to, reinterpret_cast<const void*>(address), sizeof(T));
    return true;
  }
  bool is_text(uint64_t address, const char* text) const {
    const auto* at = reinterpret_cast<const char*>(address);
    while (*text != 0 && *at == *text) ++at, ++text;
    return *at == *text;
  }
};

struct Object {
  uint64_t base = 0;
  DynamicTables tables;
  const MemflameLoaded* loaded = nullptr;

  const Elf64_Phdr* segment_at(uint64_t address, uint64_t bytes) const {
    for (uint32_t i = 0; i < loaded->segment_count; ++i) {
      const Elf64_Phdr& segment = loaded->segments[i];
      const uint64_t offset = address - base - segment.p_vaddr;
      if (segment.p_type == PT_LOAD && offset < segment.p_memsz &&
          bytes <= segment.p_memsz - offset)
        return &segment;
    }
    return nullptr;
  }
};

inline bool describe(const MemflameLoaded& loaded, Object& object) {
  object.base = loaded.base;
  object.loaded = &loaded;
  for (uint32_t i = 0; i < loaded.segment_count; ++i)
    if (loaded.segments[i].p_type == PT_DYNAMIC)
      object.tables =
          dynamic_tables(OwnMemory(), loaded.base, loaded.base + loaded.segments[i].p_vaddr);
  return object.tables.symbols != 0 && object.tables.names != 0;
}

}  // namespace memflame::inside
