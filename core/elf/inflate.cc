// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/inflate.h"

#include <libelf.h>
#include <lzma.h>

#include <algorithm>

namespace memflame {
namespace {

constexpr uint64_t max_inflated = 1 << 28;  // bytes; .debug_frame of the largest programs: 50 MB
constexpr uint64_t max_memory = uint64_t{128} << 20;  // bytes, for inflating xz

// Makes an ELF file of this section alone, so libelf does not see the rest of the target's file.
std::vector<std::byte> wrap(Bytes section) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shoff = (sizeof(Elf64_Ehdr) + section.size() + 7) & ~uint64_t{7};
  Elf64_Shdr sections[2]{};
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_flags = SHF_COMPRESSED;
  sections[1].sh_offset = sizeof(Elf64_Ehdr);
  sections[1].sh_size = section.size();
  sections[1].sh_addralign = 8;
  std::vector<std::byte> file(header.e_shoff + sizeof(sections));
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), section.data(), section.size());
  std::memcpy(file.data() + header.e_shoff, sections, sizeof(sections));
  return file;
}

}  // namespace

ImageRange inflate_section(Bytes section) {
  Elf64_Chdr header;
  if (section.size() <= sizeof(header)) return {};
  std::memcpy(&header, section.data(), sizeof(header));
  if (header.ch_size == 0 || header.ch_size > max_inflated) return {};
  std::vector<std::byte> file = wrap(section);
  elf_version(EV_CURRENT);
  Elf* elf = elf_memory(reinterpret_cast<char*>(file.data()), file.size());
  if (elf == nullptr) return {};
  ImageRange result;
  Elf_Scn* wrapped = elf_getscn(elf, 1);
  if (wrapped != nullptr && elf_compress(wrapped, 0, 0) == 1) {
    const Elf_Data* data = elf_rawdata(wrapped, nullptr);
    if (data != nullptr && data->d_buf != nullptr && data->d_size == header.ch_size) {
      result.held = std::make_unique_for_overwrite<std::byte[]>(data->d_size);
      std::memcpy(result.held.get(), data->d_buf, data->d_size);
      result.bytes = {result.held.get(), data->d_size};
    }
  }
  elf_end(elf);
  return result;
}

std::vector<std::byte> inflate_xz(Bytes data, size_t limit) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, max_memory, 0) != LZMA_OK) return {};
  stream.next_in = reinterpret_cast<const uint8_t*>(data.data());
  stream.avail_in = data.size();
  std::vector<std::byte> out;
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && out.size() <= limit) {
    const size_t before = out.size();
    out.resize(before + std::clamp<size_t>(before, size_t{1} << 16, size_t{1} << 23));
    stream.next_out = reinterpret_cast<uint8_t*>(out.data() + before);
    stream.avail_out = out.size() - before;
    result = lzma_code(&stream, LZMA_FINISH);
    out.resize(out.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (result != LZMA_STREAM_END || out.size() > limit) out.clear();
  return out;
}

}  // namespace memflame
