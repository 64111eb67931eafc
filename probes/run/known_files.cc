// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/known_files.h"

#include <sys/mman.h>

#include <algorithm>
#include <span>

#include "core/units.h"

namespace memflame {
namespace {

// Found by mapping the file: overlay file systems show another inode, or device, in stat().
uint64_t inode_of(BpfObject& object, const Module& module) {
  if (module.kind == ModuleKind::vdso) return bpf::vdso_inode;
  void* mapped = ::mmap(nullptr, page_bytes, PROT_READ, MAP_PRIVATE, module.file.get(), 0);
  if (mapped == MAP_FAILED) return 0;
  const uint64_t inode = object.inode_at(mapped);
  ::munmap(mapped, page_bytes);
  return inode;
}

bpf::file_segment segment_of(const unwind::Table& table, const unwind::Segment& segment) {
  return {.from = segment.offset & ~(uint64_t{page_bytes} - 1),
          .to = segment.offset + segment.size,
          .delta = segment.offset - segment.vaddr + table.base};
}

}  // namespace

uint64_t KnownFiles::tell(const Module& module, const unwind::Table& table,
                          unwind::Tables::Place place) {
  bpf::known_file file{.first_row = place.first, .rows = place.count, .segments = {}};
  const std::span segments(file.segments);
  if (place.count == 0 || table.segments.size() > segments.size() || told_ >= bpf::max_files)
    return 0;
  std::fill(segments.begin(), segments.end(),
            bpf::file_segment{.from = UINT64_MAX, .to = 0, .delta = 0});
  for (size_t i = 0; i < table.segments.size(); ++i)
    segments[i] = segment_of(table, table.segments[i]);
  const uint64_t inode = inode_of(object_, module);
  if (inode == 0) return 0;
  object_.update("files", inode, file);
  ++told_;
  return inode;
}

}  // namespace memflame
