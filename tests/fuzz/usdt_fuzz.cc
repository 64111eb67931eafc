// SPDX-License-Identifier: BSD-2-Clause
// Notes of USDT probes: as a whole file, and an argument by itself.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "core/unique_fd.h"
#include "probes/alloc/custom/usdt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto argument = memflame::parse_usdt_argument(text)) {
    const bool known_size = argument->bytes == 1 || argument->bytes == 2 || argument->bytes == 4 ||
                            argument->bytes == 8;
    // The last register of struct pt_regs that may be named is rsp.
    if (!known_size || argument->base > 19 * 8 || argument->index > 19 * 8 || argument->scale > 8)
      std::abort();
  }
  const memflame::UniqueFd file(::memfd_create("fuzzed", MFD_CLOEXEC));
  if (::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const memflame::UsdtPair pair = memflame::find_usdt_pair(file.get());
  for (const auto* sites : {&pair.alloc, &pair.free})
    for (const memflame::UsdtSite& site : *sites)
      if (site.offset >= size || site.counter >= size) std::abort();
  if (pair.alloc.empty() != pair.free.empty()) std::abort();
  return 0;
}
