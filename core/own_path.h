// SPDX-License-Identifier: BSD-2-Clause
// Resolves paths step by step and refuses links of other users: memflame runs as root, and other
// users may be able to write to the folder of its output.
//
// A link is followed in three cases: memflame's user or the caller (caller.h) owns it; root owns
// the link and its folder; only root, memflame's user or the caller can write to its folder.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "core/unique_fd.h"

namespace memflame {

// A name in a folder. The folder is held open, so nobody can put another folder in its place.
struct FilePlace {
  UniqueFd folder;
  std::string name;  // "." if the path ends in a slash or a dot: "/", "x/", "x/."

  // The entry itself, not the target of a link; none if it does not exist. Throws Error.
  std::optional<struct stat> status() const;
};

// The place that a path leads to, looked up as the caller (as_caller.h). `follow_last`: also follow
// a link at the end. Throws Error if a folder is missing, a link may not be followed, or there are
// more than 40 links.
FilePlace place_of(const std::string& path, bool follow_last = false);

// Whether a link at this place may be followed.
bool may_follow(const FilePlace& place, const struct stat& link);

// Throws Error if the entry of this place belongs neither to the caller nor to root or memflame's
// user: then somebody else put it there, and it is neither written nor replaced. A file of the
// folder's owner is replaced: file systems that know one user only (vfat, virtiofs, NFS for root)
// show our own files so.
void refuse_foreign(const FilePlace& place, const struct stat& status);

// Creates a file for writing, and for reading if `reads`, and replaces an existing one of that
// name. The file belongs to the caller. Throws Error.
UniqueFd create_file(const FilePlace& place, mode_t mode, bool reads = false);

// Both are done as the caller. `to` may exist; nobody else's file is replaced. False, with errno
// set, if it fails.
bool rename_file(const FilePlace& from, const FilePlace& to);
bool remove_file(const FilePlace& place);

// Whether it is the user of memflame, the caller or root.
bool is_trusted(uid_t user);

// Opens a folder for reading, with memflame's own rights. With `make`, creates missing folders
// (0700), but only inside of folders that belong to root or memflame's user. Throws Error.
UniqueFd open_folder(const std::string& path, bool make);

}  // namespace memflame
