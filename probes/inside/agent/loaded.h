// SPDX-License-Identifier: BSD-2-Clause
// The C library's list of loaded objects.
#pragma once

#include <elf.h>
#include <stddef.h>  // NOLINT(modernize-deprecated-headers)
#include <stdint.h>  // NOLINT(modernize-deprecated-headers)

extern "C" {
struct MemflameLoaded {  // dl_phdr_info of <link.h>
  uint64_t base;
  const char* name;
  const Elf64_Phdr* segments;
  uint16_t segment_count;
  unsigned long long adds, subs;
};
int dl_iterate_phdr(int (*)(MemflameLoaded*, size_t, void*), void*) __attribute__((weak));
}
