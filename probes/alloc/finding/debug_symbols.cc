// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/debug_symbols.h"

#include <sys/stat.h>

#include "core/elf/build_id.h"
#include "core/elf/debug_file.h"
#include "core/elf/inflate.h"
#include "core/hex.h"
#include "core/root_file.h"

namespace memflame {
namespace {

constexpr size_t max_inflated = size_t{64} << 20;  // bytes; a large program has 5 MB
constexpr uint64_t max_packed = uint64_t{64} << 20;

// The first of these places with a file that belongs to the stripped one.
DebugSymbols first_of(const std::vector<DebugPlace>& places, const StrippedFile& stripped,
                      std::optional<uint32_t> checksum) {
  for (const DebugPlace& place : places) {
    SharedFd file = open_in_root(place.root, place.path);
    if (file.get() >= 0 && stripped.belongs_to(file.get(), checksum))
      return {place.path, std::move(file), {}};
  }
  return {};
}

}  // namespace

DebugSymbols find_debug_symbols(int fd, const ImageBytes& image, const ElfImage& elf,
                                const std::string& root, const std::string& path) {
  struct stat self {};
  if (::fstat(fd, &self) != 0) return {};
  const StrippedFile stripped{hex(build_id(image)), self.st_dev, self.st_ino};
  DebugSymbols found =
      first_of(places_of_build_id(root, stripped.build_id), stripped, std::nullopt);
  if (found.where.empty())
    if (const std::optional<DebugLink> link = debug_link(image, elf))
      found = first_of(places_of_link(root, path, link->name), stripped, link->checksum);
  if (!found.where.empty()) return found;
  const Elf64_Shdr* packed = elf.section(".gnu_debugdata");
  if (packed == nullptr || packed->sh_size > max_packed) return {};
  DebugSymbols inside;
  inside.bytes = inflate_xz(raw_section_bytes(image, *packed).bytes, max_inflated);
  if (!inside.bytes.empty()) inside.where = ".gnu_debugdata";
  return inside;
}

}  // namespace memflame
