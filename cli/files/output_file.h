// SPDX-License-Identifier: BSD-2-Clause
// Writes results so that a failure leaves nothing half-written, and no link of another user is
// followed (core/own_path.h).
//
// Standard output, pipes, terminals, /dev/null and the caller's own /dev/fd/N are written in place.
// Block devices and other devices are refused. All files belong to the caller (core/caller.h).
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "core/unique_fd.h"

namespace memflame {

// Who may read a written file: everyone the umask allows, or only its owner.
enum class Readers : uint8_t { by_umask, owner };

// Calls `write` with the stream for `path`; "" and "-" mean standard output. A file is written next
// to its final name and renamed when complete. Throws Error.
void write_output(const std::string& path, const std::function<void(std::ostream&)>& write,
                  Readers readers = Readers::by_umask);

// The same for what writes to a descriptor, in any order, and reads it again. Throws Error (usage)
// if `path` is not that of a file.
void write_file(const std::string& path, const std::function<void(int fd)>& write);

// A file for lines that are written one by one and visible from the first one on; "" and "-" mean
// standard output. An existing file is replaced, unless it is written in place. Throws Error.
std::unique_ptr<std::ostream> open_lines(const std::string& path,
                                         Readers readers = Readers::by_umask);

// The same as a descriptor; "" and "-" are not for it.
UniqueFd open_output(const std::string& path, Readers readers);

// False if the output is written in place.
bool is_file(const std::string& path);

// "heap.2.svg" for "heap.svg": the number comes before `suffix`, or before the last part of the
// name if that is not how it ends.
std::string numbered_name(const std::string& path, std::string_view suffix, unsigned number);

// Removes a file that write_output() has made; does nothing if there is none.
void remove_output(const std::string& path);

// Refuses early what would fail late: a missing or unwritable folder.
void require_writable(const std::string& path);

// Throws Error (usage) if a picture, of a file with this suffix, would be written to a terminal.
void refuse_terminal(const std::string& path, std::string_view suffix);

}  // namespace memflame
