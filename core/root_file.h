// SPDX-License-Identifier: BSD-2-Clause
// Opens files by names that a watched program chose.
#pragma once

#include <cstdint>
#include <string>

#include "core/recording.h"

namespace memflame {

// What to do if the last part of a path is a symbolic link.
enum class LastLink : uint8_t { follow, refuse };

// Opens a regular file for reading as a program whose root directory is `root` would see it:
// symbolic links, absolute ones too, stay below `root`, so a container cannot point us at a file of
// the host. A device or a pipe is not opened at all. Empty if there is no such file.
SharedFd open_in_root(const std::string& root, const std::string& path,
                      LastLink link = LastLink::follow);

}  // namespace memflame
