// SPDX-License-Identifier: BSD-2-Clause
// Notes: what PT_NOTE segments and SHT_NOTE sections hold.
#pragma once

#include <algorithm>
#include <string_view>

#include "core/elf/image.h"

namespace memflame {

struct ElfNote {
  uint32_t type = 0;
  std::string_view owner;  // with its zero, as it is in the file
  Bytes data;
};

// Calls `visit` with each note until it returns true, which is the result. `align`: of the segment
// or section; notes and their parts are padded to multiples of 8 if it is 8, else of 4.
template <class Visit>
bool find_note(Bytes notes, uint64_t align, Visit visit) {
  const uint64_t mask = align == 8 ? 7 : 3;
  const auto padded = [&](uint64_t size) { return (size + mask) & ~mask; };
  while (notes.size() >= sizeof(Elf64_Nhdr)) {  // 32-bit files have the same
    Elf64_Nhdr head;
    std::memcpy(&head, notes.data(), sizeof(head));
    const uint64_t data = padded(sizeof(head) + uint64_t{head.n_namesz});
    const uint64_t end = data + head.n_descsz;
    if (end > notes.size()) return false;  // the last note may lack its padding
    const auto* owner = reinterpret_cast<const char*>(notes.data() + sizeof(head));
    if (visit({head.n_type, {owner, head.n_namesz}, notes.subspan(data, head.n_descsz)}))
      return true;
    notes = notes.subspan(std::min<uint64_t>(padded(end), notes.size()));
  }
  return false;
}

}  // namespace memflame
