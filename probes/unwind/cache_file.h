// SPDX-License-Identifier: BSD-2-Clause
// The contents of a cache file: a header with the stamp, the segments, the rows.
#pragma once

#include "probes/unwind/cache.h"

namespace memflame::unwind {

// Reads a table from the beginning of an open file. std::nullopt unless the file is complete and
// undamaged, has this stamp, and holds a table that make_table could have made.
std::optional<Table> read_table(int fd, const FileStamp& stamp);

// `fd`: a new, empty file. False if it could not be written.
bool write_table(int fd, const FileStamp& stamp, const Table& table);

// Detects damage, not forgery: TableCache checks who may write here. Each step can be undone, so a
// change of a single word always changes the sum. The size of `bytes` is a multiple of 8.
uint64_t checksum(uint64_t sum, const void* data, size_t bytes);

}  // namespace memflame::unwind
