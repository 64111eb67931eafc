// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/vdso.h"

#include <sys/auxv.h>

#include <algorithm>

namespace memflame {

Bytes vdso_image() {
  const unsigned long at = ::getauxval(AT_SYSINFO_EHDR);
  if (at == 0) return {};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives the address as a number
  const auto* image = reinterpret_cast<const std::byte*>(at);
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  // It ends with its section headers or its last segment. The kernel mapped whole pages, so this
  // never reads beyond it.
  uint64_t size = header->e_shoff + uint64_t{header->e_shnum} * header->e_shentsize;
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(image + header->e_phoff);
  for (const Elf64_Phdr& s : std::span(segments, header->e_phnum))
    if (s.p_type == PT_LOAD) size = std::max(size, s.p_offset + s.p_filesz);
  return {image, size};
}

}  // namespace memflame
