#include "probes/unwind/cache.h"

#include "probes/unwind/elf_image.h"

namespace memflame::unwind {

Table table_of_file(int fd, const TableCache*) { return make_table(ImageBytes(fd)); }

}  // namespace memflame::unwind
