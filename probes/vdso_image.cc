// SPDX-License-Identifier: BSD-2-Clause
#include "probes/vdso_image.h"

#include <elf.h>
#include <sys/auxv.h>

namespace memflame {

std::span<const std::byte> vdso_image() {
  const unsigned long at = ::getauxval(AT_SYSINFO_EHDR);
  if (at == 0) return {};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives the address as a number
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(at);
  // The section headers are the last thing in it.
  const size_t size = header->e_shoff + size_t{header->e_shnum} * header->e_shentsize;
  return {reinterpret_cast<const std::byte*>(header), size};
}

}  // namespace memflame
