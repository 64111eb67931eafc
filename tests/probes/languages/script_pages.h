// SPDX-License-Identifier: BSD-2-Clause
// Memory of a made process for tests of languages: words at addresses; the pages that hold one can
// be read.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tests/probes/languages/python_memory.h"

namespace memflame {

class ScriptPages {
 public:
  void word(uint64_t at, uint64_t value) {
    for (unsigned i = 0; i < 8; ++i) byte(at + i, static_cast<uint8_t>(value >> (8 * i)));
  }
  void byte(uint64_t at, uint8_t value) {
    pages.try_emplace(at / 4096, std::vector<uint8_t>(4096)).first->second[at % 4096] = value;
  }
  // From now on, this is the memory that is read.
  void use() {
    bpf::read_script = [this](void* to, size_t size, uint64_t address) -> long {
      ++reads;
      for (size_t i = 0; i < size; ++i) {
        const auto page = pages.find((address + i) / 4096);
        if (page == pages.end()) return -14;
        static_cast<uint8_t*>(to)[i] = page->second[(address + i) % 4096];
      }
      return 0;
    };
  }

  std::map<uint64_t, std::vector<uint8_t>> pages;
  int reads = 0;
};

}  // namespace memflame
