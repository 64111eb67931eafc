// Unwind tables kept between runs.
#pragma once

#include "probes/unwind/table.h"

namespace memflame::unwind {

class TableCache;

// The table of a file: from the cache if there is one and it has it, else made and stored there.
// From any thread. Reads with pread only: the file may shrink meanwhile.
Table table_of_file(int fd, const TableCache* cache);

}  // namespace memflame::unwind
