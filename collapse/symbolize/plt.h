// SPDX-License-Identifier: BSD-2-Clause
// Names of the stubs through which a program calls into its libraries.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collapse/symbolize/elf_file.h"

namespace memflame {

struct PltStub {
  uint64_t start = 0, size = 0;
  std::string name;  // "malloc@plt"
};

// Every stub whose jump goes through a relocated slot. `name_of` gives the name of a function of
// this file, for slots that the resolver of an indirect function fills (static programs).
std::vector<PltStub> plt_stubs(const ElfFile& file,
                               const std::function<std::string_view(uint64_t)>& name_of);

}  // namespace memflame
