#include "probes/alloc/allocators.h"

#include <optional>

#include "probes/alloc/candidates.h"
#include "probes/alloc/file_code.h"
#include "probes/alloc/placement.h"

namespace memflame {

AllocatorProbes find_allocator(int fd, const FindOptions& options) {
  const unwind::ImageBytes image(fd);
  const std::optional<unwind::ElfImage> elf = unwind::ElfImage::open(image);
  if (!elf) return {};
  const BlockFunctions candidates = find_candidates(fd, image, *elf, options);
  if (candidates.functions.empty()) return {};
  FileCode code(image, *elf, options.long_nops);
  AllocatorProbes probes = place(code, candidates, options);
  if (!candidates.where.empty()) probes.notes.push_back("symbols are from " + candidates.where);
  return probes;
}

}  // namespace memflame
