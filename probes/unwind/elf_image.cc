// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/elf_image.h"

#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace memflame::unwind {
namespace {

constexpr uint64_t max_notes = 1 << 16;     // bytes; a build id takes 36 of them
constexpr uint64_t max_dynamic = 1 << 14;   // bytes; a thousand entries, where thirty are usual
constexpr uint64_t max_build_id = 64;       // bytes; sha1 has 20, sha256 32
constexpr uint64_t max_range = 1 << 30;     // bytes read at once; a sparse file may have any size
constexpr uint64_t max_inflated = 1 << 28;  // bytes; .debug_frame of the largest programs: 50 MB

template <typename T>
std::vector<T> read_array(const ImageBytes& image, uint64_t offset, uint64_t count) {
  const Range range = image.range(offset, count * sizeof(T));
  std::vector<T> array(range.bytes.size() / sizeof(T));
  if (!array.empty()) std::memcpy(array.data(), range.bytes.data(), array.size() * sizeof(T));
  return array;
}

// libelf inflates sections of ELF files only, so one is written around the bytes: a header, the
// section, and two section headers. What else the target's file holds is not shown to libelf.
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

Range inflate(Bytes section) {
  Elf64_Chdr header;
  if (section.size() <= sizeof(header)) return {};
  std::memcpy(&header, section.data(), sizeof(header));
  if (header.ch_size == 0 || header.ch_size > max_inflated) return {};
  std::vector<std::byte> file = wrap(section);
  elf_version(EV_CURRENT);
  Elf* elf = elf_memory(reinterpret_cast<char*>(file.data()), file.size());
  if (elf == nullptr) return {};
  Range result;
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

}  // namespace

ImageBytes::ImageBytes(int fd) : fd_(fd) {
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
    size_ = static_cast<uint64_t>(status.st_size);
}

Range ImageBytes::range(uint64_t offset, uint64_t size) const {
  if (size == 0 || size > max_range || offset > size_ || size > size_ - offset) return {};
  if (fd_ < 0) return {memory_.subspan(offset, size), nullptr};
  Range range;
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

std::optional<ElfImage> ElfImage::open(const ImageBytes& image) {
  const std::vector<Elf64_Ehdr> headers = read_array<Elf64_Ehdr>(image, 0, 1);
  if (headers.empty()) return std::nullopt;
  const Elf64_Ehdr& header = headers.front();
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64 ||
      (header.e_type != ET_EXEC && header.e_type != ET_DYN) ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  ElfImage elf;
  elf.entry_ = header.e_entry;
  elf.segments_ = read_array<Elf64_Phdr>(image, header.e_phoff, header.e_phnum);
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return elf;
  elf.sections_ = read_array<Elf64_Shdr>(image, header.e_shoff, header.e_shnum);
  if (header.e_shstrndx < elf.sections_.size()) {
    const Elf64_Shdr& names = elf.sections_[header.e_shstrndx];
    if (names.sh_type == SHT_STRTAB) elf.names_ = image.range(names.sh_offset, names.sh_size);
  }
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

Range code_at(const ImageBytes& image, const ElfImage& elf, uint64_t address, uint64_t size) {
  const Elf64_Phdr* segment = elf.loaded(address);
  if (segment == nullptr || (segment->p_flags & PF_X) == 0) return {};
  const uint64_t skipped = address - segment->p_vaddr;
  return image.range(segment->p_offset + skipped, std::min(size, segment->p_filesz - skipped));
}

Range section_bytes(const ImageBytes& image, const Elf64_Shdr& section) {
  Range range = image.range(section.sh_offset, section.sh_size);
  return (section.sh_flags & SHF_COMPRESSED) ? inflate(range.bytes) : std::move(range);
}

std::vector<std::byte> build_id(const ImageBytes& image) {
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return {};
  for (const Elf64_Phdr& segment : elf->segments()) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > max_notes) continue;
    const Range notes = image.range(segment.p_offset, segment.p_filesz);
    // Notes lie at multiples of 4 or 8; their parts are padded alike.
    const uint64_t align = segment.p_align == 8 ? 8 : 4;
    const auto padded = [&](uint64_t size) { return (size + align - 1) & ~(align - 1); };
    Bytes rest = notes.bytes;
    while (rest.size() >= sizeof(Elf64_Nhdr)) {
      Elf64_Nhdr note;
      std::memcpy(&note, rest.data(), sizeof(note));
      const uint64_t data = padded(sizeof(note) + note.n_namesz), end = data + note.n_descsz;
      if (end > rest.size()) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
          std::memcmp(rest.data() + sizeof(note), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 &&
          note.n_descsz <= max_build_id)
        return {rest.data() + data, rest.data() + end};
      rest = rest.subspan(std::min<uint64_t>(padded(end), rest.size()));
    }
  }
  return {};
}

}  // namespace memflame::unwind
