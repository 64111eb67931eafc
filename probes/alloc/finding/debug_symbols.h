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
  std::string where;  // for messages; "" if there are no symbols
  SharedFd file;
  std::vector<std::byte> bytes;  // used if there is no file

  ImageBytes image() const { return file.get() >= 0 ? ImageBytes(file.get()) : ImageBytes(bytes); }
};

// Looks in three places, in this order: the file under /usr/lib/debug that the build id names; the
// file that .gnu_debuglink names (next to the stripped file, in .debug/ there, and under
// /usr/lib/debug); .gnu_debugdata in the file itself. Files are looked for in the target's root and
// in memflame's. A file is accepted only if its build id is the same or, if either file has none,
// if its checksum is the link's.
DebugSymbols find_debug_symbols(int fd, const ImageBytes& image, const ElfImage& elf,
                                const std::string& root, const std::string& path);

}  // namespace memflame
