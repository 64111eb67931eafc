// SPDX-License-Identifier: BSD-2-Clause
// Resolves paths step by step, so that a link of another user leads nowhere: memflame runs as root,
// and others may write to the folder of its output.
//
// A link is followed if its owner is memflame's user or the caller (caller.h), if it is root's in a
// folder of root's, or if nobody else can write to its folder.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "probes/unique_fd.h"

namespace memflame {

// A name in a folder that is held open, so that nobody can move another folder under it.
struct FilePlace {
  UniqueFd folder;
  std::string name;  // "." if the path names a folder by its end: "/", "x/."

  // The entry itself, not the target of a link; none if it does not exist. Throws Error.
  std::optional<struct stat> status() const;
};

// The place a path leads to. `follow_last`: also follow a link at the end. At most 40 links are
// followed. Throws Error for a missing folder and for a link that may not be followed.
FilePlace place_of(const std::string& path, bool follow_last = false);

// Whether a link at this place may be followed.
bool may_follow(const FilePlace& place, const struct stat& link);

// A new file for writing, in place of what had that name. It belongs to the caller. Throws Error.
UniqueFd create_file(const FilePlace& place, mode_t mode);

// Opens a folder for reading. With `make`, missing ones are created (0700), but not in a folder
// that belongs to neither root nor memflame's user. Throws Error.
UniqueFd open_folder(const std::string& path, bool make);

}  // namespace memflame
