// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/function_starts.h"

#include <dwarf.h>

#include <algorithm>

namespace memflame {
namespace {

constexpr uint64_t most_functions = 16 << 20;
constexpr size_t start_code = 64;  // bytes of _start in which main is passed

}  // namespace

FunctionStarts::FunctionStarts(const ElfFile& file) : file_(file) {
  const auto segment_of = [&](unsigned type) {
    return std::ranges::find(file.headers().segments(), type, &Elf64_Phdr::p_type);
  };
  const auto none = file.headers().segments().end();
  if (segment_of(PT_INTERP) != none) find_program_start();
  if (const auto index = segment_of(PT_GNU_EH_FRAME); index != none) read_index(*index);
}

// The index has version 1, the address of .eh_frame in four bytes, the number of entries, and the
// entries, whose addresses are relative to the index.
void FunctionStarts::read_index(const Elf64_Phdr& segment) {
  constexpr size_t table_at = 12;
  index_ = segment.p_vaddr;
  const ImageRange range = read(index_, table_at);
  if (segment.p_filesz < table_at || range.bytes.size() < table_at) return;
  ByteCursor head(range.bytes);
  const uint8_t version = head.byte(), frames = head.byte(), count = head.byte();
  if (version != 1 || count != DW_EH_PE_udata4 ||
      head.byte() != (DW_EH_PE_datarel | DW_EH_PE_sdata4) ||
      ((frames & 0x0f) != DW_EH_PE_udata4 && (frames & 0x0f) != DW_EH_PE_sdata4))
    return;
  head.number<uint32_t>();
  const uint64_t entries = std::min<uint64_t>(
      {head.number<uint32_t>(), (segment.p_filesz - table_at) / sizeof(Entry), most_functions});
  const ImageRange table = read(index_ + table_at, entries * sizeof(Entry));
  for_each_in<Entry>(table.bytes, [&](const Entry& entry) { entries_.push_back(entry); });
  if (!std::ranges::is_sorted(entries_, {}, &Entry::start)) entries_.clear();
}

// The bytes at an address; fewer than `size` at the end of a segment.
ImageRange FunctionStarts::read(uint64_t address, uint64_t size) const {
  const Elf64_Phdr* segment = file_.headers().loaded(address);
  if (segment == nullptr) return {};
  const uint64_t into = address - segment->p_vaddr;
  return file_.image().range(segment->p_offset + into, std::min(size, segment->p_filesz - into));
}

// Reads a piece at a time: addresses are looked up in ascending order, and their entries lie in the
// same order.
Bytes FunctionStarts::read_near(uint64_t address, uint64_t size) {
  constexpr uint64_t piece = 4096;
  uint64_t into = address - near_start_;
  if (address < near_start_ || into > near_.bytes.size() || size > near_.bytes.size() - into) {
    near_ = read(address, piece);
    near_start_ = address;
    into = 0;
  }
  return near_.bytes.subspan(into, std::min<uint64_t>(size, near_.bytes.size() - into));
}

// CIEs are kept: a file has few, and most entries share one.
const std::optional<CieHead>& FunctionStarts::cie_at(uint64_t address) {
  constexpr size_t most_of_cie = 128;
  const auto [known, added] = cies_.try_emplace(address);
  if (!added) return known->second;
  const ImageRange range = read(address, most_of_cie);
  ByteCursor in(range.bytes);
  in.number<uint64_t>();  // its length, and the 0 that marks a CIE
  CieHead cie;
  if (read_cie_head(in, {.bytes = range.bytes, .address = address}, cie)) known->second = cie;
  return known->second;
}

std::optional<FunctionStarts::Extent> FunctionStarts::extent_of(uint64_t fde) {
  constexpr size_t enough = 8 + 2 * 8;  // length, where the CIE is, start and size
  ByteCursor in(read_near(fde, enough));
  const auto length = in.number<uint32_t>(), back = in.number<uint32_t>();
  // 0 ends the section; UINT32_MAX marks the 64-bit format, which nobody needs.
  if (length == 0 || length == UINT32_MAX || back == 0) return std::nullopt;
  const std::optional<CieHead>& cie = cie_at(fde + 4 - back);
  if (!cie) return std::nullopt;
  read_encoded(in, cie->encoding);  // the start, which the index has
  const uint64_t size = read_encoded(in, cie->encoding);
  if (in.failed() || size > UINT32_MAX) return std::nullopt;
  return Extent{size, cie->signal};
}

std::optional<uint64_t> FunctionStarts::start_of(uint64_t address) {
  const auto from_index = static_cast<int64_t>(address - index_);
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), from_index,
                       [](int64_t at, const Entry& entry) { return at < entry.start; });
  if (after == entries_.begin()) return std::nullopt;
  const Entry& entry = *(after - 1);
  const std::optional<Extent> extent =
      extent_of(index_ + static_cast<uint64_t>(int64_t{entry.fde}));
  if (!extent || static_cast<uint64_t>(from_index - entry.start) >= extent->size)
    return std::nullopt;
  const uint64_t start = index_ + static_cast<uint64_t>(int64_t{entry.start});
  // A signal handler's return address is looked up one byte before it, so its entry begins there.
  return extent->signal_frame ? start + 1 : start;
}

// gcc's and clang's startup code passes main in %rdi: lea main(%rip),%rdi, or mov $main,%rdi in a
// program at a fixed address.
void FunctionStarts::find_program_start() {
  entry_point_ = file_.headers().entry();
  const ImageRange range = read(entry_point_, start_code);
  const auto at = [&](size_t i) { return std::to_integer<unsigned>(range.bytes[i]); };
  for (size_t i = 0; i + 7 <= range.bytes.size(); ++i) {
    const bool relative = at(i) == 0x48 && at(i + 1) == 0x8d && at(i + 2) == 0x3d;
    const bool absolute = at(i) == 0x48 && at(i + 1) == 0xc7 && at(i + 2) == 0xc7;
    if (!relative && !absolute) continue;
    ByteCursor in(range.bytes.subspan(i + 3));
    const auto value = static_cast<uint64_t>(int64_t{in.number<int32_t>()});
    main_ = relative ? entry_point_ + i + 7 + value : value;
    return;
  }
}

std::string_view FunctionStarts::name_of(uint64_t start) const {
  if (start == 0) return {};
  if (start == entry_point_) return "_start";
  return start == main_ ? std::string_view("main") : std::string_view{};
}

}  // namespace memflame
