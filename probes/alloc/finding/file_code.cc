// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/file_code.h"

#include <algorithm>
#include <cstring>

#include "core/elf/symbols.h"
#include "core/hex.h"
#include "probes/unwind/frame_sections.h"

namespace memflame {
namespace {

// Limits, because a watched program's file may be made to take time and memory. jemalloc's realloc
// has 4,000 instructions with all code that it jumps to; all functions of an allocator have 30,000.
constexpr size_t max_pieces = 32;
constexpr uint64_t max_piece = 1 << 15;          // bytes
constexpr size_t max_instructions = 1 << 13;     // of a body
constexpr size_t max_decoded = size_t{1} << 20;  // instructions of all pieces
constexpr uint64_t max_stub = 16;                // bytes of an entry of the linkage table
constexpr uint64_t max_prologue = 128;           // bytes in which a site is looked for

}  // namespace

FileCode::FileCode(const ImageBytes& image, const ElfImage& elf, bool long_nops)
    : image_(image), elf_(elf), long_nops_(long_nops) {}

const std::vector<FileCode::Extent>& FileCode::extents() {
  if (extents_) return *extents_;
  extents_.emplace();
  unwind::FoundFrames found = unwind::find_frames(image_, elf_, false);
  if (found.section.bytes.empty()) found = unwind::find_frames(image_, elf_, true);
  unwind::Frames frames;
  if (!found.section.bytes.empty()) unwind::read_frames(found.section, frames);
  for (const unwind::Fde& fde : frames.fdes)
    if (fde.size != 0 && fde.start + fde.size > fde.start)
      extents_->push_back({fde.start, fde.start + fde.size});
  std::sort(extents_->begin(), extents_->end(),
            [](const Extent& a, const Extent& b) { return a.start < b.start; });
  return *extents_;
}

std::optional<FileCode::Extent> FileCode::extent_of(uint64_t address) {
  const std::vector<Extent>& all = extents();
  auto at = std::upper_bound(all.begin(), all.end(), address,
                             [](uint64_t a, const Extent& e) { return a < e.start; });
  if (at == all.begin() || (--at)->end <= address) return std::nullopt;
  return *at;
}

uint64_t FileCode::size_at(uint64_t address) {
  const std::optional<Extent> extent = extent_of(address);
  return extent && extent->start == address ? extent->end - extent->start : 0;
}

// Empty if the extent is too large, or is not code.
const std::vector<Instruction>& FileCode::decoded(Extent extent) {
  const auto [at, added] = decoded_.try_emplace({extent.start, extent.end});
  const uint64_t size = extent.end - extent.start;
  if (!added || size > max_piece || decoded_count_ > max_decoded) return at->second;
  const ImageRange range = code_at(image_, elf_, extent.start, size);
  if (range.bytes.size() == size) at->second = decode_all(range.bytes, extent.start, long_nops_);
  decoded_count_ += at->second.size();
  return at->second;
}

// The function addresses that the dynamic linker writes into slots.
void FileCode::read_links() {
  links_.emplace();
  for_each_relocation(
      image_, elf_, [&](const SymbolSection& symbols, const Elf64_Rela& relocation) {
        const uint64_t index = ELF64_R_SYM(relocation.r_info);
        if (!fills_slot(relocation) || index >= symbols.size()) return;
        const Elf64_Sym symbol = symbols.symbol(index);
        const bool here = symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
        links_->try_emplace(relocation.r_offset,
                            Link{std::string(symbols.name(symbol)), here ? symbol.st_value : 0});
      });
}

const FileCode::Link* FileCode::link_at(uint64_t slot) {
  if (!links_) read_links();
  const auto found = links_->find(slot);
  return found == links_->end() ? nullptr : &found->second;
}

bool FileCode::is_linked(uint64_t address) {
  if (!links_) read_links();
  return std::any_of(links_->begin(), links_->end(),
                     [&](const auto& each) { return each.second.address == address; });
}

// Tries every byte as the opcode of a call, without decoding: four bytes that point to the address
// by chance are too unlikely to matter.
std::vector<uint64_t> FileCode::direct_calls(uint64_t address) const {
  constexpr std::byte call{0xe8};
  constexpr uint64_t length = 5;
  constexpr uint64_t at_once = 1 << 20;
  std::vector<uint64_t> found;
  for (const Elf64_Phdr& segment : elf_.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    for (uint64_t start = 0; start < segment.p_filesz; start += at_once) {
      const ImageRange code = image_.range(
          segment.p_offset + start, std::min(at_once + length - 1, segment.p_filesz - start));
      const std::byte* const first = code.bytes.data();
      const std::byte* const last = first + code.bytes.size();
      for (const std::byte* at = std::find(first, last, call); last - at >= int64_t{length};
           at = std::find(at + 1, last, call)) {
        int32_t distance = 0;
        std::memcpy(&distance, at + 1, sizeof(distance));
        const uint64_t next = segment.p_vaddr + start + static_cast<uint64_t>(at - first) + length;
        if (next + static_cast<uint64_t>(int64_t{distance}) == address) found.push_back(next);
      }
    }
  }
  return found;
}

// The slot that an entry of the linkage table jumps through, perhaps behind endbr64; 0 if the
// address has no such entry. Slots of indirect functions have no name.
uint64_t FileCode::slot_of_stub(uint64_t address) {
  const auto [at, added] = stubs_.try_emplace(address, 0);
  if (!added) return at->second;
  const ImageRange stub = code_at(image_, elf_, address, max_stub);
  std::optional<Instruction> jump = decode(stub.bytes, address);
  if (jump && jump->kind == Instruction::other && jump->length == 4)
    jump = decode(stub.bytes.subspan(4), jump->next());
  if (jump && jump->kind == Instruction::jump) at->second = jump->slot;
  return at->second;
}

Destination FileCode::destination(const Instruction& instruction) {
  if (instruction.kind != Instruction::call && !instruction.is_branch()) return {};
  const uint64_t slot =
      instruction.target == 0 ? instruction.slot : slot_of_stub(instruction.target);
  if (slot == 0 && instruction.target != 0) return {Destination::known, instruction.target, {}};
  const Link* link = slot == 0 ? nullptr : link_at(slot);
  if (link == nullptr) return {Destination::computed, 0, {}};
  return {link->address == 0 ? Destination::other_file : Destination::known, link->address,
          link->name};
}

Body FileCode::body(uint64_t address, uint64_t size, const std::vector<uint64_t>& ends) {
  Body body;
  if (size == 0) size = size_at(address);
  if (size == 0) {
    body.gap = "its size is not known";
    return body;
  }
  std::vector<Extent> pieces{{address, address + size}};
  const auto inside = [&](uint64_t a) {
    return std::any_of(pieces.begin(), pieces.end(),
                       [&](const Extent& p) { return a >= p.start && a < p.end; });
  };
  for (size_t done = 0; done < pieces.size(); ++done) {
    const std::vector<Instruction>& code = decoded(pieces[done]);
    if (pieces.size() > max_pieces || body.code.size() + code.size() > max_instructions) {
      body.gap = "it jumps to too much code";
      break;
    }
    if (code.empty()) body.gap = "the code at " + hex(pieces[done].start) + " is not understood";
    body.code.insert(body.code.end(), code.begin(), code.end());
    for (const Instruction& i : code) {
      if (!i.is_branch() || inside(i.target)) continue;
      const Destination to = destination(i);
      if (to.kind != Destination::known || inside(to.address) ||
          std::binary_search(ends.begin(), ends.end(), to.address))
        continue;
      const std::optional<Extent> extent = extent_of(to.address);
      if (!extent)
        body.gap = "its jump at " + hex(i.address) + " leads to no function that is known";
      else
        pieces.push_back(*extent);
    }
  }
  return body;
}

uint64_t FileCode::offset_of(uint64_t address) const {
  const Elf64_Phdr* segment = elf_.loaded(address);
  if (segment == nullptr || (segment->p_flags & PF_X) == 0) return UINT64_MAX;
  return address - segment->p_vaddr + segment->p_offset;
}

Site FileCode::site(uint64_t address, uint64_t size, uint8_t arguments) {
  if (size == 0) size = size_at(address);
  const Body whole = body(address, size, {});
  const ImageRange entry =
      code_at(image_, elf_, address, size == 0 ? max_prologue : std::min(size, max_prologue));
  const std::optional<Extent> extent = extent_of(address);
  // Code that is unknown may jump back into the function, so its size counts as unknown, too.
  const uint64_t known = whole.gap.empty() ? size : 0;
  return choose_site(entry.bytes, address, whole.code,
                     {.arguments = arguments,
                      .size = known,
                      .long_nops = long_nops_,
                      .inside = extent && extent->start != address});
}

// Compilers keep data in the red zone of a function that makes no call. Code that is not known may
// keep some, too.
bool FileCode::call_may_overwrite(uint64_t address) {
  const ImageRange bytes = code_at(image_, elf_, address, max_stub);
  const std::optional<Instruction> at = decode(bytes.bytes, address);
  if (!at || !at->becomes_call) return false;
  const std::optional<Extent> own = extent_of(address);
  if (!own) return true;
  const Body whole = body(own->start, own->end - own->start, {});
  if (!whole.gap.empty()) return true;
  const bool calls = std::any_of(whole.code.begin(), whole.code.end(), [&](const Instruction& i) {
    const bool is_system_call = i.cost == ProbeCost::refused;
    return i.kind == Instruction::call && !is_system_call && i.address >= own->start &&
           i.address < own->end;
  });
  return std::any_of(whole.code.begin(), whole.code.end(), [&](const Instruction& i) {
    return i.red_zone == Instruction::inside || (!calls && i.red_zone == Instruction::if_leaf);
  });
}

}  // namespace memflame
