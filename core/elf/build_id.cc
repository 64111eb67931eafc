// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/build_id.h"

#include "core/elf/notes.h"
#include "core/hex.h"

namespace memflame {
namespace {

constexpr uint64_t max_notes = 1 << 16;  // bytes; the note of a build id takes 36
constexpr uint64_t max_build_id = 64;    // bytes; sha1 has 20, sha256 32

std::vector<std::byte> read_id(const ImageBytes& image, uint64_t offset, uint64_t size,
                               uint64_t align) {
  if (size > max_notes) return {};
  const ImageRange notes = image.range(offset, size);
  const Bytes id = build_id_in(notes.bytes, align);
  return {id.begin(), id.end()};
}

}  // namespace

Bytes build_id_in(Bytes notes, uint64_t align) {
  constexpr std::string_view owner(ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU));
  Bytes id;
  find_note(notes, align, [&](const ElfNote& note) {
    const bool found =
        note.type == NT_GNU_BUILD_ID && note.owner == owner && note.data.size() <= max_build_id;
    if (found) id = note.data;
    return found;
  });
  return id;
}

std::vector<std::byte> build_id(const ImageBytes& image) {
  const std::optional<ElfImage> elf = ElfImage::open_any(image);
  if (!elf) return {};
  std::vector<std::byte> id;
  for (const Elf64_Phdr& segment : elf->segments())
    if (segment.p_type == PT_NOTE && id.empty())
      id = read_id(image, segment.p_offset, segment.p_filesz, segment.p_align);
  // Separate debug files may keep segments whose contents they do not have.
  for (const Elf64_Shdr& section : elf->sections())
    if (section.sh_type == SHT_NOTE && id.empty())
      id = read_id(image, section.sh_offset, section.sh_size, section.sh_addralign);
  return id;
}

std::string build_id_of(int fd) { return hex(build_id(ImageBytes(fd))); }

}  // namespace memflame
