// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/frame_sections.h"

#include <algorithm>

namespace memflame::unwind {
namespace {

// Without section headers: PT_GNU_EH_FRAME leads to a header with a pointer to .eh_frame, which
// ends at an entry of length zero.
FoundFrames frames_by_header(const ImageBytes& image, const ElfImage& elf) {
  for (const Elf64_Phdr& s : elf.segments()) {
    if (s.p_type != PT_GNU_EH_FRAME) continue;
    constexpr uint64_t header_size = 12;  // version, three encodings, a pointer of up to 8 bytes
    const ImageRange header = image.range(s.p_offset, std::min<uint64_t>(s.p_filesz, header_size));
    FrameSection self{header.bytes, s.p_vaddr};
    self.data = s.p_vaddr;
    ByteCursor in(header.bytes);
    const uint8_t version = in.byte(), encoding = in.byte();
    in.number<uint16_t>();  // how the search table is encoded, which is not used
    const uint64_t address = read_pointer(in, encoding, self);
    const Elf64_Phdr* segment = version == 1 && !in.failed() ? elf.loaded(address) : nullptr;
    if (segment == nullptr) continue;
    const uint64_t skipped = address - segment->p_vaddr;
    FoundFrames found{image.range(segment->p_offset + skipped, segment->p_filesz - skipped), {}};
    found.section.address = address;
    found.section.ends_at_zero = true;
    return found;
  }
  return {};
}

}  // namespace

FoundFrames find_frames(const ImageBytes& image, const ElfImage& elf, bool debug) {
  FoundFrames found;
  const Elf64_Shdr* section = elf.section(debug ? ".debug_frame" : ".eh_frame");
  if (section != nullptr) {
    found.range = section_bytes(image, *section);
    found.section.address = debug ? 0 : section->sh_addr;
  }
  if (!debug && found.range.bytes.empty()) found = frames_by_header(image, elf);
  found.section.bytes = found.range.bytes;
  found.section.debug = debug;
  found.section.data = dynamic_entry(image, elf, DT_PLTGOT);  // as libgcc takes it
  if (const Elf64_Shdr* text = elf.section(".text")) found.section.text = text->sh_addr;
  return found;
}

}  // namespace memflame::unwind
