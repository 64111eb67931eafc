// SPDX-License-Identifier: BSD-2-Clause
// Files of watched programs. Start it with some: elf_symbols_fuzz corpus/ -max_len=100000
#include <sys/mman.h>
#include <unistd.h>

#include "collapse/symbolize/bus_guard.h"
#include "collapse/symbolize/elf_symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memflame::Module module;
  module.path = "/fuzzed";
  module.file = memflame::SharedFd(::memfd_create("fuzzed", MFD_CLOEXEC));
  if (::write(module.file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  memflame::DebuginfodBudget budget;
  budget.left = budget.left.zero();
  const memflame::BusGuard guard;
  memflame::OwnFiles files(module, budget);
  memflame::ElfSymbols symbols(module, true, files);
  for (uint64_t offset = 0; offset < std::min<uint64_t>(size, 16384); offset += 16)
    if (const std::optional<uint64_t> address = symbols.address_of(offset)) symbols.find(*address);
  return 0;
}
