// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/function_starts.h"

#include <dwarf.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>

namespace memflame {
namespace {

constexpr uint64_t most_functions = 16 << 20;
constexpr size_t most_segments = 64;
constexpr size_t start_code = 64;  // bytes of _start in which main is handed over

template <class T>
std::optional<T> number_at(std::span<const std::byte> bytes, size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Bytes that a pointer of this encoding takes; 0 for those without a fixed size.
size_t size_of_encoded(unsigned encoding) {
  switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return 8;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
      return 4;
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2:
      return 2;
    default:
      return 0;
  }
}

// How the addresses in FDEs of this CIE are written ("zR", "zPLR", …). The last letter would do,
// but what stands before it must be skipped. `cie`: from its length on.
std::optional<unsigned> encoding_of(std::span<const std::byte> cie, bool& signal_frame) {
  constexpr size_t augmentation_at = 9;  // behind length, id and version
  const auto* text = reinterpret_cast<const char*>(cie.data());
  if (cie.size() <= augmentation_at) return std::nullopt;
  const size_t length = ::strnlen(text + augmentation_at, cie.size() - augmentation_at);
  const std::string_view augmentation(text + augmentation_at, length);
  size_t at = augmentation_at + length + 1;
  if (augmentation.empty()) return DW_EH_PE_absptr;
  if (augmentation[0] != 'z') return std::nullopt;
  signal_frame = augmentation.find('S') != std::string_view::npos;
  // Code and data alignment, the return address' register, the size of what follows.
  for (int i = 0; i < 4; ++i) {
    while (at < cie.size() && (cie[at] & std::byte{0x80}) != std::byte{}) ++at;
    ++at;
  }
  for (const char letter : augmentation.substr(1)) {
    const std::optional<uint8_t> byte = number_at<uint8_t>(cie, at);
    if (letter == 'S' || letter == 'B') continue;
    if (!byte) return std::nullopt;
    if (letter == 'R') return *byte;
    if (letter == 'P') at += size_of_encoded(*byte);
    ++at;
  }
  return DW_EH_PE_absptr;
}

}  // namespace

FunctionStarts::FunctionStarts(const ElfFile& file) {
  map_segments(file.elf());
  size_t count = 0;
  if (elf_getphdrnum(file.elf(), &count) != 0) return;
  uint64_t size = 0;
  GElf_Phdr segment;
  for (size_t i = 0; i < count; ++i) {
    if (gelf_getphdr(file.elf(), static_cast<int>(i), &segment) == nullptr) return;
    if (segment.p_type == PT_INTERP) find_program_start(file.elf());
    if (segment.p_type != PT_GNU_EH_FRAME) continue;
    index_ = segment.p_vaddr;
    size = segment.p_filesz;
  }
  // Version 1; the address of .eh_frame in four bytes; the number of entries; then these, relative
  // to the index.
  constexpr size_t table_at = 12;
  const std::span<const std::byte> head = read(index_, table_at);
  const auto is = [&](size_t at, unsigned value) { return number_at<uint8_t>(head, at) == value; };
  if (size < table_at || head.size() < table_at || !is(0, 1) || !is(2, DW_EH_PE_udata4) ||
      !is(3, DW_EH_PE_datarel | DW_EH_PE_sdata4) ||
      size_of_encoded(number_at<uint8_t>(head, 1).value_or(0)) != 4)
    return;
  const uint64_t entries = std::min<uint64_t>({number_at<uint32_t>(head, 8).value_or(0),
                                               (size - table_at) / sizeof(Entry), most_functions});
  const std::span<const std::byte> table = read(index_ + table_at, entries * sizeof(Entry));
  entries_.resize(table.size() / sizeof(Entry));
  if (!entries_.empty())
    std::memcpy(entries_.data(), table.data(), entries_.size() * sizeof(Entry));
  if (!std::is_sorted(entries_.begin(), entries_.end(),
                      [](const Entry& a, const Entry& b) { return a.start < b.start; }))
    entries_.clear();
}

void FunctionStarts::map_segments(Elf* elf) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return;
  GElf_Phdr segment;
  for (size_t i = 0; i < count && mapped_.size() < most_segments; ++i) {
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) return;
    if (segment.p_type != PT_LOAD || segment.p_filesz == 0) continue;
    const Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<int64_t>(segment.p_offset),
                                                segment.p_filesz, ELF_T_BYTE);
    if (data == nullptr || data->d_buf == nullptr) continue;
    mapped_.push_back(
        {segment.p_vaddr, {static_cast<const std::byte*>(data->d_buf), data->d_size}});
  }
}

// The bytes at an address, as many of them as there are.
std::span<const std::byte> FunctionStarts::read(uint64_t address, uint64_t size) const {
  for (const Mapped& part : mapped_) {
    const uint64_t into = address - part.address;
    if (address < part.address || into >= part.bytes.size()) continue;
    return part.bytes.subspan(into, std::min<uint64_t>(size, part.bytes.size() - into));
  }
  return {};
}

std::optional<FunctionStarts::Extent> FunctionStarts::extent_of(uint64_t fde) const {
  constexpr size_t enough = 8 + 2 * 8;  // length, where the CIE is, start and size
  constexpr size_t most_of_cie = 128;
  const std::span<const std::byte> bytes = read(fde, enough);
  const std::optional<uint32_t> length = number_at<uint32_t>(bytes, 0);
  const std::optional<uint32_t> back = number_at<uint32_t>(bytes, 4);
  // 0 ends the section, UINT32_MAX is the form of 64 bits, which nobody needs.
  if (!length || !back || *length == 0 || *length == UINT32_MAX || *back == 0) return std::nullopt;
  Extent extent;
  const std::optional<unsigned> encoding =
      encoding_of(read(fde + 4 - *back, most_of_cie), extent.signal_frame);
  if (!encoding) return std::nullopt;
  const size_t size = size_of_encoded(*encoding);
  const size_t at = 8 + size;  // behind the start
  if (size == 8) extent.size = number_at<uint64_t>(bytes, at).value_or(0);
  if (size == 4) extent.size = number_at<uint32_t>(bytes, at).value_or(0);
  if (size == 2) extent.size = number_at<uint16_t>(bytes, at).value_or(0);
  return extent;
}

std::optional<uint64_t> FunctionStarts::start_of(uint64_t address) const {
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
void FunctionStarts::find_program_start(Elf* elf) {
  GElf_Ehdr header;
  if (gelf_getehdr(elf, &header) == nullptr) return;
  entry_point_ = header.e_entry;
  const std::span<const std::byte> code = read(entry_point_, start_code);
  const auto at = [&](size_t i) { return std::to_integer<unsigned>(code[i]); };
  for (size_t i = 0; i + 7 <= code.size(); ++i) {
    const bool relative = at(i) == 0x48 && at(i + 1) == 0x8d && at(i + 2) == 0x3d;
    const bool absolute = at(i) == 0x48 && at(i + 1) == 0xc7 && at(i + 2) == 0xc7;
    if (!relative && !absolute) continue;
    const auto value = static_cast<uint64_t>(int64_t{number_at<int32_t>(code, i + 3).value_or(0)});
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
