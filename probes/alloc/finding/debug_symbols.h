// SPDX-License-Identifier: BSD-2-Clause
// The symbols that were stripped from a file, if they are still available.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/elf/image.h"
#include "core/recording.h"

namespace memflame {

struct DebugSymbols {
  std::string where;  // for messages; "" when there are none
  SharedFd file;
  std::vector<std::byte> bytes;  // without a file

  ImageBytes image() const { return file.get() >= 0 ? ImageBytes(file.get()) : ImageBytes(bytes); }
};

// In this order: the file named by the build id under /usr/lib/debug, the one that .gnu_debuglink
// names (next to the file, in .debug/ there, and under /usr/lib/debug), each in the target's root
// and in ours; .gnu_debugdata in the file itself. A file is accepted only if its build id is the
// same or, if one of them has none, if its checksum is the link's.
DebugSymbols find_debug_symbols(int fd, const ImageBytes& image, const ElfImage& elf,
                                const std::string& root, const std::string& path);

}  // namespace memflame
