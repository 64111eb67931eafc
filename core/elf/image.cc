// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/image.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/elf/inflate.h"

namespace memflame {
namespace {

constexpr uint64_t max_dynamic = 1 << 14;  // bytes; a thousand entries, where thirty are usual
constexpr uint64_t max_range = 1 << 30;    // bytes read at once; a sparse file may have any size

template <typename T>
std::vector<T> read_array(const ImageBytes& image, uint64_t offset, uint64_t count) {
  const ImageRange range = image.range(offset, count * sizeof(T));
  std::vector<T> array(range.bytes.size() / sizeof(T));
  if (!array.empty()) std::memcpy(array.data(), range.bytes.data(), array.size() * sizeof(T));
  return array;
}

Elf64_Phdr widened(const Elf32_Phdr& s) {
  return {.p_type = s.p_type,
          .p_flags = s.p_flags,
          .p_offset = s.p_offset,
          .p_vaddr = s.p_vaddr,
          .p_paddr = s.p_paddr,
          .p_filesz = s.p_filesz,
          .p_memsz = s.p_memsz,
          .p_align = s.p_align};
}
Elf64_Phdr widened(const Elf64_Phdr& s) { return s; }

Elf64_Shdr widened(const Elf32_Shdr& s) {
  return {.sh_name = s.sh_name,
          .sh_type = s.sh_type,
          .sh_flags = s.sh_flags,
          .sh_addr = s.sh_addr,
          .sh_offset = s.sh_offset,
          .sh_size = s.sh_size,
          .sh_link = s.sh_link,
          .sh_info = s.sh_info,
          .sh_addralign = s.sh_addralign,
          .sh_entsize = s.sh_entsize};
}
Elf64_Shdr widened(const Elf64_Shdr& s) { return s; }

}  // namespace

ImageBytes::ImageBytes(int fd) : fd_(fd) {
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
    size_ = static_cast<uint64_t>(status.st_size);
}

ImageRange ImageBytes::range(uint64_t offset, uint64_t size) const {
  if (size == 0 || size > max_range || offset > size_ || size > size_ - offset) return {};
  if (fd_ < 0) return {memory_.subspan(offset, size), nullptr};
  ImageRange range;
  range.held = std::make_unique_for_overwrite<std::byte[]>(size);
  for (uint64_t done = 0; done < size;) {
    const ssize_t got =
        ::pread(fd_, range.held.get() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    done += static_cast<uint64_t>(got);
  }
  range.bytes = {range.held.get(), size};
  return range;
}

template <class Ehdr, class Phdr, class Shdr>
bool ElfImage::read(const ImageBytes& image) {
  const std::vector<Ehdr> headers = read_array<Ehdr>(image, 0, 1);
  if (headers.empty()) return false;
  const Ehdr& header = headers.front();
  std::memcpy(header_.e_ident, header.e_ident, EI_NIDENT);
  header_.e_type = header.e_type;
  header_.e_machine = header.e_machine;
  header_.e_entry = header.e_entry;
  header_.e_phentsize = header.e_phentsize;
  if (header.e_phentsize == sizeof(Phdr))
    for (const Phdr& segment : read_array<Phdr>(image, header.e_phoff, header.e_phnum))
      segments_.push_back(widened(segment));
  if (header.e_shentsize != sizeof(Shdr)) return true;
  for (const Shdr& section : read_array<Shdr>(image, header.e_shoff, header.e_shnum))
    sections_.push_back(widened(section));
  if (header.e_shstrndx < sections_.size()) {
    const Elf64_Shdr& names = sections_[header.e_shstrndx];
    if (names.sh_type == SHT_STRTAB) names_ = raw_section_bytes(image, names);
  }
  return true;
}

std::optional<ElfImage> ElfImage::open_any(const ImageBytes& image) {
  const ImageRange ident = image.range(0, EI_NIDENT);
  const auto is = [&](size_t at, int value) { return ident.bytes[at] == std::byte(value); };
  if (ident.bytes.empty() || std::memcmp(ident.bytes.data(), ELFMAG, SELFMAG) != 0 ||
      !is(EI_DATA, ELFDATA2LSB))
    return std::nullopt;
  ElfImage elf;
  const bool done =
      (is(EI_CLASS, ELFCLASS64) && elf.read<Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr>(image)) ||
      (is(EI_CLASS, ELFCLASS32) && elf.read<Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr>(image));
  return done ? std::optional(std::move(elf)) : std::nullopt;
}

bool ElfImage::is_x86_64_code() const {
  return is_wide() && header_.e_machine == EM_X86_64 &&
         (header_.e_type == ET_EXEC || header_.e_type == ET_DYN) &&
         header_.e_phentsize == sizeof(Elf64_Phdr);
}

std::optional<ElfImage> ElfImage::open(const ImageBytes& image) {
  std::optional<ElfImage> elf = open_any(image);
  if (elf && !elf->is_x86_64_code()) elf.reset();
  return elf;
}

const Elf64_Shdr* ElfImage::section(std::string_view name) const {
  const std::string_view names(reinterpret_cast<const char*>(names_.bytes.data()),
                               names_.bytes.size());
  const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const Elf64_Shdr& s) {
    if (s.sh_type == SHT_NOBITS || s.sh_name >= names.size()) return false;
    const std::string_view rest = names.substr(s.sh_name);
    return rest.starts_with(name) && rest.size() > name.size() && rest[name.size()] == '\0';
  });
  return found == sections_.end() ? nullptr : &*found;
}

const Elf64_Phdr* ElfImage::loaded(uint64_t address) const {
  const auto found = std::find_if(segments_.begin(), segments_.end(), [&](const Elf64_Phdr& s) {
    return s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz;
  });
  return found == segments_.end() ? nullptr : &*found;
}

ElfClass elf_class(int fd) {
  std::array<unsigned char, 20> head{};
  if (::pread(fd, head.data(), head.size(), 0) != static_cast<ssize_t>(head.size()) ||
      !std::equal(head.begin(), head.begin() + SELFMAG, ELFMAG))
    return ElfClass::none;
  const unsigned machine = head[18] | (unsigned{head[19]} << 8);
  return head[EI_CLASS] == ELFCLASS64 && machine == EM_X86_64 ? ElfClass::x86_64 : ElfClass::other;
}

std::optional<uint64_t> dynamic_entry(const ImageBytes& image, const ElfImage& elf, int64_t tag) {
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_type != PT_DYNAMIC) continue;
    const uint64_t size = std::min(segment.p_filesz, max_dynamic);
    for (const Elf64_Dyn& entry :
         read_array<Elf64_Dyn>(image, segment.p_offset, size / sizeof(Elf64_Dyn))) {
      if (entry.d_tag == tag) return entry.d_un.d_val;
      if (entry.d_tag == DT_NULL) break;
    }
  }
  return std::nullopt;
}

ImageRange loaded_at(const ImageBytes& image, const ElfImage& elf, uint64_t address,
                     uint64_t size) {
  const Elf64_Phdr* segment = elf.loaded(address);
  if (segment == nullptr) return {};
  const uint64_t skipped = address - segment->p_vaddr;
  return image.range(segment->p_offset + skipped, std::min(size, segment->p_filesz - skipped));
}

ImageRange code_at(const ImageBytes& image, const ElfImage& elf, uint64_t address, uint64_t size) {
  const Elf64_Phdr* segment = elf.loaded(address);
  if (segment == nullptr || !is_code(*segment)) return {};
  return loaded_at(image, elf, address, size);
}

ImageRange raw_section_bytes(const ImageBytes& image, const Elf64_Shdr& section) {
  return image.range(section.sh_offset, section.sh_size);
}

ImageRange section_bytes(const ImageBytes& image, const Elf64_Shdr& section) {
  ImageRange range = raw_section_bytes(image, section);
  return (section.sh_flags & SHF_COMPRESSED) ? inflate_section(range.bytes) : std::move(range);
}

}  // namespace memflame
