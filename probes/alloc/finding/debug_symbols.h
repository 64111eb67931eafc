// SPDX-License-Identifier: BSD-2-Clause
// The symbols that were stripped from a file, if they are still available.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/recording.h"
#include "probes/unwind/elf_image.h"

namespace memflame {

struct DebugSymbols {
  std::string where;  // for messages; "" when there are none
  SharedFd file;
  std::vector<std::byte> bytes;  // without a file

  unwind::ImageBytes image() const {
    return file.get() >= 0 ? unwind::ImageBytes(file.get()) : unwind::ImageBytes(bytes);
  }
};

// In this order: the file named by the build id under /usr/lib/debug, the one that .gnu_debuglink
// names (next to the file, in .debug/ there, and under /usr/lib/debug), each in the target's root
// and in ours; .gnu_debugdata in the file itself. A file is accepted only if its build id is the
// same or, if one of them has none, if its checksum is the link's.
DebugSymbols find_debug_symbols(int fd, const unwind::ImageBytes& image,
                                const unwind::ElfImage& elf, const std::string& root,
                                const std::string& path);

// The inflated xz data; empty if they are broken, or inflate to more than `limit` bytes.
std::vector<std::byte> inflate_xz(unwind::Bytes data, size_t limit);

}  // namespace memflame
