// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/go_code.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/elf/notes.h"
#include "probes/unwind/frame_sections.h"

namespace memflame {
namespace {

constexpr size_t longest_check = 8;       // instructions of a stack check; 6 are usual at most
constexpr uint64_t longest_growth = 256;  // bytes of code that saves arguments and gets a stack
constexpr uint64_t piece = 1 << 20;

// Go's debug/gosym: the table of functions begins with a magic (of Go 1.2, 1.16, 1.18 or 1.20), two
// zeros, the instruction quantum of x86 (1) and the size of a pointer (8). debug/buildinfo: the
// blob that every program has.
bool has_mark(Bytes bytes) {
  constexpr std::array<char, 7> tail{'\xff', '\xff', '\xff', 0, 0, 1, 8};
  constexpr std::string_view blob = "\xff Go buildinf:";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.find(blob) != std::string_view::npos) return true;
  const std::string_view wanted(tail.data(), tail.size());
  for (size_t at = text.find(wanted, 1); at != std::string_view::npos;
       at = text.find(wanted, at + 1))
    if (std::string_view("\xf0\xf1\xfa\xfb").find(text[at - 1]) != std::string_view::npos)
      return true;
  return false;
}

bool segment_has_mark(const ImageBytes& image, const Elf64_Phdr& segment) {
  constexpr uint64_t overlap = 32;  // longer than a mark
  for (uint64_t at = 0; at < segment.p_filesz; at += piece) {
    const ImageRange range =
        image.range(segment.p_offset + at, std::min(piece + overlap, segment.p_filesz - at));
    if (has_mark(range.bytes)) return true;
  }
  return false;
}

// The build id that `go build` writes: a note of owner "Go" and type 4.
bool has_go_note(const ImageBytes& image, const ElfImage& elf) {
  constexpr uint32_t go_build_id = 4;
  constexpr uint64_t max_notes = 1 << 16;  // bytes
  return std::ranges::any_of(elf.segments(), [&](const Elf64_Phdr& segment) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > max_notes) return false;
    const ImageRange notes = image.range(segment.p_offset, segment.p_filesz);
    return find_note(notes.bytes, segment.p_align, [](const ElfNote& note) {
      return note.type == go_build_id && note.owner == std::string_view("Go\0\0", 4);
    });
  });
}

}  // namespace

bool has_go_code(const ImageBytes& image, const ElfImage& elf) {
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab", ".go.buildinfo"})
    if (elf.section(name) != nullptr) return true;
  if (has_go_note(image, elf)) return true;
  return elf.sections().empty() &&
         std::ranges::any_of(elf.segments(), [&](const Elf64_Phdr& segment) {
           return segment.p_type == PT_LOAD && segment_has_mark(image, segment);
         });
}

bool GoCode::contains(uint64_t address) {
  if (!is_go_) {
    is_go_ = has_go_code(image_, elf_);
    unwind::Frames frames;
    const unwind::FoundFrames found = unwind::find_frames(image_, elf_, false);
    if (*is_go_ && !found.section.bytes.empty()) unwind::read_frames(found.section, frames);
    for (const unwind::Fde& fde : frames.fdes)
      others_.emplace_back(fde.start, fde.start + fde.size);
    std::ranges::sort(others_);
  }
  if (!*is_go_) return false;
  const auto behind = std::ranges::upper_bound(others_, std::pair{address, UINT64_MAX});
  return behind == others_.begin() || std::prev(behind)->second <= address;
}

namespace {

std::optional<uint64_t> passed_once(const Body& body, uint64_t address) {
  const auto again = std::ranges::find_if(body.code, [&](const Instruction& i) {
    return i.kind == Instruction::jump && i.target == address;
  });
  if (again == body.code.end()) return address;
  std::optional<uint64_t> behind;
  size_t steps = 0;
  for (const Instruction& i : body.code) {
    if (++steps > longest_check || i.changes_stack) break;
    if (i.kind == Instruction::other) continue;
    if (i.kind != Instruction::conditional || i.target > again->address ||
        again->address - i.target > longest_growth)
      break;
    behind = i.next();
  }
  return behind;
}

}  // namespace

// A function of Go may end its stack right below rsp (StackLimit of internal/abi), so no kernel may
// turn the instruction into a call.
std::optional<uint64_t> go_entry(FileCode& code, uint64_t address, uint64_t size) {
  const Body body = code.body(address, size, {});
  if (!body.gap.empty() || body.code.empty()) return std::nullopt;
  const std::optional<uint64_t> entry = passed_once(body, address);
  const auto at = std::ranges::find(body.code, entry.value_or(0), &Instruction::address);
  return at == body.code.end() || at->becomes_call ? std::nullopt : entry;
}

}  // namespace memflame
