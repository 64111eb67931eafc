// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/remote_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "core/units.h"

namespace memflame::inside {
namespace {

constexpr unsigned most_segments = 64;

void* as_pointer(uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

bool is_same_file(const MapsLine& a, const MapsLine& b) {
  return a.device == b.device && a.inode == b.inode && a.path == b.path;
}

// The object whose first page a mapping is; none if it is not a loaded one.
std::optional<LoadedObject> object_at(const RemoteMemory& memory, const std::vector<MapsLine>& maps,
                                      size_t first) {
  const MapsLine& line = maps[first];
  Elf64_Ehdr header{};
  if (!memory.read(line.start, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phnum > most_segments)
    return std::nullopt;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (memory.read_some(line.start + header.e_phoff, std::as_writable_bytes(std::span(segments))) !=
      segments.size() * sizeof(Elf64_Phdr))
    return std::nullopt;
  const auto load = std::find_if(segments.begin(), segments.end(), [](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && segment.p_offset == 0;
  });
  if (load == segments.end()) return std::nullopt;
  LoadedObject object;
  object.base = line.start - load->p_vaddr;
  object.start = line.start;
  object.path = line.path;
  bool has_code = false;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t start = object.base + segment.p_vaddr;
    object.end = std::max(object.end, start + segment.p_memsz);
    if ((segment.p_flags & PF_X) == 0) continue;
    has_code = has_code || std::any_of(maps.begin(), maps.end(), [&](const MapsLine& other) {
                 return other.executable && start >= other.start && start < other.end &&
                        is_same_file(other, line);
               });
  }
  if (!has_code || object.end <= object.start) return std::nullopt;
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_DYNAMIC)
      object.tables = dynamic_tables(memory, object.base, object.base + segment.p_vaddr);
  return object;
}

}  // namespace

size_t RemoteMemory::read_some(uint64_t address, std::span<std::byte> to) const {
  const iovec local{to.data(), to.size()};
  const iovec remote{as_pointer(address), to.size()};
  const ssize_t got = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  return got < 0 ? 0 : static_cast<size_t>(got);
}

bool RemoteMemory::write(uint64_t address, std::span<const std::byte> bytes) const {
  const iovec local{const_cast<std::byte*>(bytes.data()), bytes.size()};
  const iovec remote{as_pointer(address), bytes.size()};
  return ::process_vm_writev(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes.size());
}

bool RemoteMemory::is_text(uint64_t address, const char* text) const {
  std::array<char, 64> found{};
  const size_t length = std::strlen(text) + 1;
  return length <= found.size() &&
         read_some(address, std::as_writable_bytes(std::span(found).first(length))) == length &&
         std::memcmp(found.data(), text, length) == 0;
}

std::string RemoteMemory::text(uint64_t address) const {
  std::array<char, 1024> found{};
  size_t got = 0;
  // A text may end just before memory that cannot be read.
  while (got < found.size()) {
    const uint64_t in_page = page_bytes - (address + got) % page_bytes;
    const size_t wanted = std::min<size_t>(in_page, found.size() - got);
    if (read_some(address + got, std::as_writable_bytes(std::span(found).subspan(got, wanted))) !=
        wanted)
      break;
    got += wanted;
    if (std::memchr(found.data(), 0, got) != nullptr) break;
  }
  return {found.data(), ::strnlen(found.data(), got)};
}

std::vector<LoadedObject> loaded_objects(const RemoteMemory& memory,
                                         const std::vector<MapsLine>& maps) {
  std::vector<LoadedObject> objects;
  for (size_t i = 0; i < maps.size(); ++i) {
    const MapsLine& line = maps[i];
    if (line.offset != 0 || line.inode == 0 || !line.readable) continue;
    if (std::optional<LoadedObject> object = object_at(memory, maps, i))
      objects.push_back(std::move(*object));
  }
  return objects;
}

}  // namespace memflame::inside
