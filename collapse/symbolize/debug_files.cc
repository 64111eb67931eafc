// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/debug_files.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <vector>

namespace memflame {
namespace {

// CRC-32 of IEEE 802.3, as .gnu_debuglink holds it (GDB manual, "Separate Debug Files").
uint32_t crc32_of(int fd) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < made.size(); ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0xedb88320U : 0);
      made[i] = value;
    }
    return made;
  }();
  std::vector<unsigned char> buffer(uint32_t{1} << 16);
  uint32_t crc = ~uint32_t{0};
  off_t offset = 0;
  for (ssize_t n; (n = ::pread(fd, buffer.data(), buffer.size(), offset)) > 0; offset += n)
    for (ssize_t i = 0; i < n; ++i)
      crc = table[(crc ^ buffer[static_cast<size_t>(i)]) & 0xff] ^ (crc >> 8);
  return ~crc;
}

// Build ids are compared if both files have one; otherwise the checksum of the link decides.
bool belongs(int fd, const DebugSearch& search, GElf_Word crc) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_ino == search.inode) return false;
  const std::string id = build_id_of(fd);
  if (!id.empty() && !search.build_id.empty()) return id == search.build_id;
  return crc32_of(fd) == crc;
}

// The first file for which `is_it` holds, among all places where it may be.
template <class IsIt>
SharedFd find_file(FileSource& files, FileRequest request, const IsIt& is_it) {
  for (;; ++request.place) {
    const OpenedFile opened = files.open(request);
    if (opened.found == Found::no_place) return {};
    if (opened.found == Found::file && is_it(opened.file.get())) return opened.file;
  }
}

SharedFd find_by_link(const DebugSearch& search, std::string_view link, GElf_Word crc) {
  return find_file(*search.files, {FileRequest::Kind::link, std::string(link)},
                   [&](int fd) { return belongs(fd, search, crc); });
}

SharedFd ask_debug_servers(const DebugSearch& search) {
  return find_file(*search.files, {FileRequest::Kind::server, search.build_id},
                   [&](int fd) { return build_id_of(fd) == search.build_id; });
}

}  // namespace

std::string hex(const void* bits, ssize_t size) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (ssize_t i = 0; i < size; ++i) {
    const unsigned char byte = static_cast<const unsigned char*>(bits)[i];
    text += {digits[byte >> 4], digits[byte & 0xf]};
  }
  return text;
}

std::string build_id_of(Elf* elf) {
  const void* bits = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf, &bits);
  return hex(bits, size);
}

std::string build_id_of(int fd) {
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd, ELF_C_READ_MMAP, nullptr), elf_end);
  return elf != nullptr && elf_kind(elf.get()) == ELF_K_ELF ? build_id_of(elf.get()) : "";
}

SharedFd find_by_build_id(FileSource& files, const std::string& build_id) {
  return find_file(files, {FileRequest::Kind::build_id, build_id},
                   [&](int fd) { return build_id_of(fd) == build_id; });
}

int find_debug_file(Dwfl_Module*, void** user_data, const char*, Dwarf_Addr, const char*,
                    const char* debuglink, GElf_Word debuglink_crc, char**) {
  DebugSearch& search = *static_cast<DebugSearch*>(*user_data);
  // libdwfl also asks here for the second file that .gnu_debugaltlink names, then without a
  // checksum. ElfFile::attach_alternate looks for that one by its build id.
  const bool alternate = debuglink != nullptr && debuglink_crc == 0;
  int fd = -1;
  // libdwfl asks twice, for symbols and for DWARF, if the first search found nothing.
  if (!alternate && !search.failed) {
    SharedFd file = find_by_build_id(*search.files, search.build_id);
    if (file.get() < 0 && debuglink != nullptr)
      file = find_by_link(search, debuglink, debuglink_crc);
    if (file.get() < 0) file = ask_debug_servers(search);
    // libdwfl closes the descriptor it is given.
    fd = file.get() >= 0 ? ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0) : -1;
    search.failed = fd < 0;
  }
  // If errno is set, libdwfl takes a miss for an error and gives up .dynsym as well.
  if (fd < 0) errno = 0;
  return fd;
}

}  // namespace memflame
