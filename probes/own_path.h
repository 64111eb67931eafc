// SPDX-License-Identifier: BSD-2-Clause
// Paths that are resolved step by step, so that a link of another user leads nowhere: memflame runs
// as root, and others may write to the folder of its output.
//
// A link is followed when its owner is memflame's user or the caller (caller.h), when it is root's
// in a folder of root's, or when nobody else can write to its folder.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "probes/unique_fd.h"

namespace memflame {

// A name in a folder that is held open, so that nobody can move another folder under it.
struct Place {
  UniqueFd folder;
  std::string name;  // "." when the path names a folder by its end: "/", "x/."

  // The entry itself, not what a link leads to; none when it does not exist. Throws Error.
  std::optional<struct stat> status() const;
};

// Where a path leads. `follow_last`: a link at the end is followed too. Links are followed up to 40
// times. Throws Error for a missing folder and for a link that may not be followed.
Place place_of(const std::string& path, bool follow_last = false);

// May a link at this place be followed?
bool may_follow(const Place& place, const struct stat& link);

// A new file for writing, instead of what had that name. It belongs to the caller. Throws Error.
UniqueFd create_file(const Place& place, mode_t mode);

// Opens a folder for reading. With `make`, missing ones are made (0700), but none in a folder that
// is neither root's nor memflame's user's. Throws Error.
UniqueFd open_folder(const std::string& path, bool make);

}  // namespace memflame
