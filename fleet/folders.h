// SPDX-License-Identifier: BSD-2-Clause
// Folders by descriptors, so that no link in a path leads elsewhere.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/recording.h"

namespace memflame {

// Something else has the name of a folder: a link, a file, or a folder of another user.
struct NotAFolder : Error {
  using Error::Error;
};

// The folder of a path, in which links of other users are refused (core/own_path.h). It is made if
// there is none, the folders above it are not: one may be mounted later. Throws Error.
SharedFd open_path(const std::string& path, mode_t mode);

// A folder in another one; it is made if there is none. Throws Error.
SharedFd open_folder(int parent, const std::string& name, mode_t mode = 0700);

// All but those that begin with a '.', in any order. Throws Error.
std::vector<std::string> names_in(int folder);

// Writes a file that did not exist; sync_file() brings it to the disk. Both return 0 or an error
// number; then a part of the file may be there.
int write_new_file(int folder, const std::string& name, std::string_view bytes, mode_t mode);
int sync_file(int folder, const std::string& name);

}  // namespace memflame
