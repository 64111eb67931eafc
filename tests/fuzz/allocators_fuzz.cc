// SPDX-License-Identifier: BSD-2-Clause
// Any bytes as an ELF file of the watched program. Sites must lie in the file.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "probes/alloc/finding/allocators.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): no header

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = ::memfd_create("input", MFD_CLOEXEC);
  if (file < 0 || ::write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  // In an empty root: debug files are searched for, and none is found.
  const AllocatorProbes probes = find_allocator(
      file,
      {.symbols_prefix = "toy_", .check = true, .path = "/lib/x", .root = "/proc/self/fdinfo"});
  for (const AllocatorSite& site : probes.sites)
    if (site.offset >= size || site.shape.allocator >= probes.allocators.size()) std::abort();
  ::close(file);
  return 0;
}
