// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/heaptrack_modules.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "collapse/inputs/hex_fields.h"
#include "core/elf/image.h"
#include "core/ids.h"
#include "core/interner.h"
#include "core/root_file.h"

namespace memflame {

void HeaptrackModules::begin() {
  end();
  ++list_;
  is_open_ = true;
}

bool HeaptrackModules::add(std::string_view path, std::string_view numbers) {
  if (!is_open_) begin();
  HexFields fields(numbers);
  const std::optional<uint64_t> base = fields.next();
  if (!base) return false;
  std::vector<Segment> segments;
  while (const std::optional<uint64_t> address = fields.next()) {
    const std::optional<uint64_t> size = fields.next();
    uint64_t start = 0, end = 0;
    if (!size || __builtin_add_overflow(*base, *address, &start) ||
        __builtin_add_overflow(start, *size, &end))
      return false;
    segments.push_back({*address, *size});
  }
  std::vector<Mapping>& mappings = recording_.spaces[space_.index].mappings;
  if (!fields.rest().empty() || mappings.size() + segments.size() > most_mappings ||
      known_.size() >= most_modules)
    return false;
  std::string key = std::string(path) + ' ' + std::string(numbers);
  if (next_.contains(key)) return true;
  if (auto same = loaded_.extract(key)) {
    next_.insert(std::move(same));
    return true;
  }
  const File& known = file(path, segments);
  const size_t first = mappings.size();
  for (const auto& [segment, offset] : known.code)
    mappings.push_back({.start = *base + segment.address,
                        .end = *base + segment.address + segment.size,
                        .offset = offset,
                        .module = known.module,
                        .from_ns = list_});
  next_.emplace(std::move(key), Range{first, mappings.size() - first});
  return true;
}

void HeaptrackModules::end() {
  if (!is_open_) return;
  is_open_ = false;
  std::vector<Mapping>& mappings = recording_.spaces[space_.index].mappings;
  for (const auto& [key, range] : loaded_)
    for (size_t i = 0; i < range.count; ++i) mappings[range.first + i].until_ns = list_;
  loaded_ = std::move(next_);
  next_.clear();
}

const HeaptrackModules::File& HeaptrackModules::file(std::string_view path,
                                                     const std::vector<Segment>& segments) {
  std::string key(path);
  for (const Segment& segment : segments)
    key += ' ' + std::to_string(segment.address) + ' ' + std::to_string(segment.size);
  const auto [place, is_new] = known_.try_emplace(std::move(key));
  File& known = place->second;
  if (!is_new) return known;
  known.module = ModuleId{next_index(recording_.modules.size())};
  Module& module = recording_.modules.emplace_back();
  // This kernel's vdso may differ, so it counts as a file that is missing.
  module.path = path.starts_with("linux-vdso.so") || path.starts_with("linux-gate.so")
                    ? "[vdso]"
                    : std::string(path);
  if (!path.starts_with('/') && module.path != "[vdso]") module.kind = ModuleKind::anonymous;
  module.unchanged_since_ns = unchanged_since_ns_;
  // Linkers mostly give code the offset that its address has.
  for (const Segment& segment : segments) known.code.emplace_back(segment, segment.address);
  if (files_ && path.starts_with('/')) compare(module, known, segments);
  return known;
}

// Without an inode, symbolize() does not use the file that has the name now.
void HeaptrackModules::compare(Module& module, File& file,
                               const std::vector<Segment>& segments) const {
  const SharedFd now = open_in_root("", module.path);
  struct stat status {};
  if (now.get() < 0 || ::fstat(now.get(), &status) != 0) return;
  const std::optional<ElfImage> elf = ElfImage::open_any(ImageBytes(now.get()));
  if (!elf) return;
  std::vector<Segment> found;
  std::vector<std::pair<Segment, uint64_t>> code;
  for (const Elf64_Phdr& segment : elf->segments()) {
    if (segment.p_type != PT_LOAD) continue;
    found.push_back({segment.p_vaddr, segment.p_memsz});
    if (is_code(segment)) code.emplace_back(found.back(), segment.p_offset);
  }
  if (found != segments) return;
  file.code = std::move(code);
  module.device = status.st_dev;
  module.inode = status.st_ino;
}

}  // namespace memflame
