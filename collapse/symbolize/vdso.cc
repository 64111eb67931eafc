// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/vdso.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "core/elf/vdso.h"

namespace memflame {

SharedFd own_vdso() {
  const Bytes image = vdso_image();
  if (image.empty()) return {};
  SharedFd file(::memfd_create("vdso", MFD_CLOEXEC));
  if (file.get() < 0 ||
      ::pwrite(file.get(), image.data(), image.size(), 0) != static_cast<ssize_t>(image.size()))
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
