// SPDX-License-Identifier: BSD-2-Clause
// The agent's library as a file that watched programs can load, also after memflame has ended:
// children that start later still name it in LD_PRELOAD.
//
// Its name has the hash of its contents, so several versions of memflame can be in use. It is code
// that others will run: it is made in a folder that nobody else can write, under another name that
// then becomes its own, and one that is there already is used only if its owner, mode and contents
// are right.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace memflame::inside {

// The library that is built into this program.
std::span<const std::byte> agent_image();

// "inside-HASH.so", by its contents.
std::string agent_name(std::span<const std::byte> image);

// Writes the image if it is not there yet; returns its path. For root the folder is
// /var/cache/memflame, for others that of their caches or, if that cannot be used,
// /tmp/memflame-UID. Throws Error.
std::string agent_file(std::span<const std::byte> image);
// The same below a given folder, which is made if it is missing.
std::string agent_file_in(const std::string& folder, std::span<const std::byte> image);
// In the first of some folders that can be used. If none can, the Error is about the first.
std::string agent_file_in_first(std::span<const std::string> folders,
                                std::span<const std::byte> image);

// "LD_PRELOAD=FILE", before what the environment names already.
std::string preload_variable(const std::string& file);

}  // namespace memflame::inside
