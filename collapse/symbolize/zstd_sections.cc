// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/zstd_sections.h"

#include <zstd.h>

#include <algorithm>
#include <cstdint>

namespace memflame {
namespace {

constexpr uint32_t packed_with_zstd = 2;  // ELFCOMPRESS_ZSTD; not in every <elf.h>
constexpr uint64_t most_unpacked_bytes = uint64_t{1} << 30;  // .debug_info of the largest programs

bool is_packed(Elf_Scn* section, GElf_Shdr& header, GElf_Chdr& packed) {
  return gelf_getshdr(section, &header) != nullptr && (header.sh_flags & SHF_COMPRESSED) != 0 &&
         header.sh_type != SHT_NOBITS && gelf_getchdr(section, &packed) != nullptr &&
         packed.ch_type == packed_with_zstd;
}

}  // namespace

void ZstdSections::unpack(Elf* elf) {
  if (elf == nullptr || std::ranges::count(met_, elf) != 0) return;
  met_.push_back(elf);
  const size_t head = gelf_getclass(elf) == ELFCLASS64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;)
    if (!unpack(section, head)) failed_ = true;
}

// False if the section could not be unpacked.
bool ZstdSections::unpack(Elf_Scn* section, size_t head) {
  GElf_Shdr header;
  GElf_Chdr packed;
  if (!is_packed(section, header, packed)) return true;
  if (packed.ch_size == 0 || packed.ch_size > most_unpacked_bytes) return false;
  if (elf_compress(section, 0, 0) > 0) return true;
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr || data->d_size <= head) return false;
  auto content = std::make_unique_for_overwrite<std::byte[]>(packed.ch_size);
  const size_t size =
      ZSTD_decompress(content.get(), packed.ch_size,
                      static_cast<const std::byte*>(data->d_buf) + head, data->d_size - head);
  if (ZSTD_isError(size) != 0 || size != packed.ch_size) return false;
  header.sh_flags &= ~static_cast<GElf_Xword>(SHF_COMPRESSED);
  header.sh_size = size;
  header.sh_addralign = packed.ch_addralign;
  if (gelf_update_shdr(section, &header) == 0) return false;
  data->d_buf = held_.emplace_back(std::move(content)).get();
  data->d_size = size;
  data->d_type = ELF_T_BYTE;
  data->d_align = packed.ch_addralign;
  return true;
}

}  // namespace memflame
