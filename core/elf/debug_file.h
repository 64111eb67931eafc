// SPDX-License-Identifier: BSD-2-Clause
// Where the debug file of a stripped file may be, and whether a file is that one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/elf/image.h"

namespace memflame {

// A name in a root folder ("": ours), for open_in_root().
struct DebugPlace {
  std::string root, path;
};

// Whether the text is lower-case hex of a usual length.
bool is_build_id(const std::string& text);

// /usr/lib/debug/.build-id/xx/yyyy.debug in the target's root and in ours. None if the text is not
// a build id.
std::vector<DebugPlace> places_of_build_id(const std::string& root, const std::string& id);

// /usr/lib/debug/.build-id/xx/yyyy: the file itself. `id` is a build id.
std::string program_of_build_id(const std::string& id);

// .gnu_debuglink: a name chosen by whoever made the file, and the checksum of what it names.
struct DebugLink {
  std::string name;
  uint32_t checksum = 0;
};
std::optional<DebugLink> debug_link(const ImageBytes& image, const ElfImage& elf);

// Next to the file at `path`, in .debug/ there, and under /usr/lib/debug, in the target's root and
// in ours. None if the link is not a plain file name.
std::vector<DebugPlace> places_of_link(const std::string& root, const std::string& path,
                                       const std::string& link);

// A file whose debug file is looked for.
struct StrippedFile {
  std::string build_id;            // lower-case hex
  uint64_t device = 0, inode = 0;  // so that it is not taken for its own debug file

  // Build ids are compared if both files have one; otherwise the checksum of the link decides.
  bool belongs_to(int debug_file, std::optional<uint32_t> checksum) const;
};

}  // namespace memflame
