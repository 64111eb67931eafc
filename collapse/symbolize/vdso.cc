// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/vdso.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace memflame {
namespace {

// The image ends with its section headers or its last segment. The kernel mapped whole pages, so
// this never reads beyond it.
uint64_t image_size(const char* image) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  uint64_t size = header->e_shoff + uint64_t{header->e_shnum} * header->e_shentsize;
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(image + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD)
      size = std::max(size, segments[i].p_offset + segments[i].p_filesz);
  return size;
}

}  // namespace

SharedFd own_vdso() {
  const uint64_t address = ::getauxval(AT_SYSINFO_EHDR);
  if (address == 0) return {};
  const char* image = reinterpret_cast<const char*>(address);
  SharedFd file(::memfd_create("vdso", MFD_CLOEXEC));
  const uint64_t size = image_size(image);
  if (file.get() < 0 || ::pwrite(file.get(), image, size, 0) != static_cast<ssize_t>(size))
    return {};
  return file;
}

std::string_view vsyscall_name(uint64_t address) {
  // Offsets as in the kernel's arch/x86/entry/vsyscall/vsyscall_emu_64.S: 1024 bytes apart.
  constexpr std::array<std::string_view, 3> names{"gettimeofday", "time", "getcpu"};
  const uint64_t index = (address - vsyscall_start) / 1024;
  return index < names.size() ? names[index] : std::string_view{};
}

}  // namespace memflame
