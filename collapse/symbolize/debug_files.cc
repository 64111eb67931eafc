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

#include "core/root_file.h"

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

// Build ids are compared where both files have one; the checksum of the link is for the others.
bool belongs(int fd, const DebugSearch& search, GElf_Word crc) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_ino == search.inode) return false;
  const std::string id = build_id_of(fd);
  if (!id.empty() && !search.build_id.empty()) return id == search.build_id;
  return crc32_of(fd) == crc;
}

SharedFd find_by_link(const DebugSearch& search, std::string_view link, GElf_Word crc) {
  // A link is a plain file name; anything else wants to lead us astray.
  if (link.empty() || link.find('/') != std::string_view::npos) return {};
  const size_t slash = search.path.rfind('/');
  if (slash == std::string::npos) return {};
  const std::string directory = search.path.substr(0, slash + 1);
  std::vector<std::string> places{directory, directory + ".debug/", "/usr/lib/debug" + directory};
  // Where /lib is a link to /usr/lib, packages may still file their debug data under /lib.
  if (directory.starts_with("/usr/")) places.push_back("/usr/lib/debug" + directory.substr(4));
  for (const std::string& root : {search.root, std::string()})
    for (const std::string& place : places) {
      SharedFd file = open_in_root(root, place + std::string(link));
      if (file.get() >= 0 && belongs(file.get(), search, crc)) return file;
    }
  return {};
}

int ask_debug_servers(Dwfl_Module* module, const DebugSearch& search, char** found_name) {
  if (search.budget->exhausted() || search.build_id.empty()) return -1;
  const auto start = std::chrono::steady_clock::now();
  // Without a file name the standard search knows the build id only: our own .build-id directory
  // once more, then the servers of DEBUGINFOD_URLS.
  const int fd =
      dwfl_standard_find_debuginfo(module, nullptr, nullptr, 0, nullptr, nullptr, 0, found_name);
  search.budget->left -= std::chrono::steady_clock::now() - start;
  if (fd < 0 || build_id_of(fd) == search.build_id) return fd;
  ::close(fd);
  return -1;
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

SharedFd find_by_build_id(const std::string& root, const std::string& build_id) {
  if (build_id.size() < 4) return {};
  const std::string path =
      "/usr/lib/debug/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
  for (const std::string& base : {root, std::string()}) {
    SharedFd file = open_in_root(base, path);
    if (file.get() >= 0 && build_id_of(file.get()) == build_id) return file;
  }
  return {};
}

int find_debug_file(Dwfl_Module* module, void** user_data, const char*, Dwarf_Addr, const char*,
                    const char* debuglink, GElf_Word debuglink_crc, char** found_name) {
  DebugSearch& search = *static_cast<DebugSearch*>(*user_data);
  // libdwfl asks here, too, for the second file that .gnu_debugaltlink names, then without a
  // checksum. ElfFile::attach_alternate looks for that one by its build id.
  const bool alternate = debuglink != nullptr && debuglink_crc == 0;
  int fd = -1;
  // It also asks twice, for symbols and for DWARF, when there was nothing the first time.
  if (!alternate && !search.failed) {
    SharedFd file = find_by_build_id(search.root, search.build_id);
    if (file.get() < 0 && debuglink != nullptr)
      file = find_by_link(search, debuglink, debuglink_crc);
    fd = file.get() >= 0 ? ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)
                         : ask_debug_servers(module, search, found_name);
    search.failed = fd < 0;
  }
  // With errno set libdwfl takes a miss for an error and gives up .dynsym as well.
  if (fd < 0) errno = 0;
  return fd;
}

}  // namespace memflame
