// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/debug_files.h"

#include <fcntl.h>

#include <cerrno>

#include "core/elf/build_id.h"

namespace memflame {
namespace {

// The file in the first place for which `is_it` holds.
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
                   [&](int fd) { return search.file.belongs_to(fd, crc); });
}

SharedFd ask_debug_servers(const DebugSearch& search) {
  return find_file(*search.files, {FileRequest::Kind::server, search.file.build_id},
                   [&](int fd) { return build_id_of(fd) == search.file.build_id; });
}

}  // namespace

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
    SharedFd file = find_by_build_id(*search.files, search.file.build_id);
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
