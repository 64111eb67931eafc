// SPDX-License-Identifier: BSD-2-Clause
// The contents of a cache file: a header with the stamp, the segments, the rows.
#pragma once

#include "probes/unwind/cache.h"

namespace memflame::unwind {

// Reads a table from the beginning of an open file. Nothing unless it is whole, undamaged, of this
// stamp, and a table that make_table could make.
std::optional<Table> read_table(int fd, const FileStamp& stamp);

// Into a new file.
bool write_table(int fd, const FileStamp& stamp, const Table& table);

// Against damage, not against forgery: other code checks who may write here. Any change of one word
// changes the sum, since each step can be undone. The size of `bytes` is a multiple of 8.
uint64_t checksum(uint64_t sum, const void* data, size_t bytes);

}  // namespace memflame::unwind
