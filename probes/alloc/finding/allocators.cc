// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/allocators.h"

#include <optional>

#include "probes/alloc/finding/candidates.h"
#include "probes/alloc/finding/elf_functions.h"
#include "probes/alloc/finding/file_code.h"
#include "probes/alloc/finding/go_code.h"
#include "probes/alloc/finding/placement.h"

namespace memflame {

std::optional<AllocatorSite> find_throw(int fd, const FindOptions& options) {
  const std::vector<ElfFunction> found = find_functions(fd, {"__cxa_throw"});
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (found.empty() || !elf) return std::nullopt;
  FileCode code(image, *elf, options.long_nops);
  const Site place = code.site(found[0].address, found[0].size, 0);
  if (place.cost == ProbeCost::refused) return std::nullopt;
  AllocatorSite site{.offset = code.offset_of(found[0].address + place.delta),
                     .text = "__cxa_throw"};
  if (site.offset == UINT64_MAX) return std::nullopt;
  site.shape.action = bpf::action_throw;
  return site;
}

AllocatorProbes find_allocator(int fd, const FindOptions& options) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return {};
  BlockFunctions candidates = find_candidates(fd, image, *elf, options);
  if (candidates.functions.empty()) return {};
  std::vector<std::string> notes;
  GoCode go(image, *elf);
  std::erase_if(candidates.functions, [&](const BlockFunction& each) {
    const bool refused = go.contains(each.address);
    if (refused)
      notes.push_back(each.name + " is not probed: it is Go code, whose returns must not be");
    return refused;
  });
  FileCode code(image, *elf, options.long_nops);
  AllocatorProbes probes = place(code, candidates, options);
  probes.notes.insert(probes.notes.end(), notes.begin(), notes.end());
  if (!candidates.where.empty()) probes.notes.push_back("symbols are from " + candidates.where);
  return probes;
}

}  // namespace memflame
