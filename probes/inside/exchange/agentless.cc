// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/exchange/agentless.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "core/elf/symbols.h"
#include "core/elf/valgrind.h"
#include "core/error.h"
#include "core/unique_fd.h"
#include "probes/processes/program_files.h"
#include "probes/system/procfs.h"

namespace memflame::inside {

bool brings_malloc(const std::string& program) {
  const UniqueFd file = open_file(program);
  if (!file) return false;
  const ImageBytes image(file.get());
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return false;
  bool found = false;
  for (const Elf64_Shdr& section : elf->sections()) {
    if (section.sh_type != SHT_DYNSYM) continue;
    const SymbolSection symbols(image, *elf, section);
    for (size_t i = 0; i < symbols.size() && !found; ++i) {
      const Elf64_Sym symbol = symbols.symbol(i);
      found = symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
              symbols.name(symbol) == "malloc";
    }
    break;
  }
  return found;
}

namespace {

constexpr std::array<std::string_view, 6> first_libraries{
    "libasan.so.",       "libtsan.so.",       "libhwasan.so.",
    "libclang_rt.asan-", "libclang_rt.tsan-", "libclang_rt.hwasan-"};

// Whether one of the libraries that it names must come before all others.
bool needs_first_library(int file) {
  const ImageBytes image(file);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  bool found = false;
  if (!elf) return found;
  for (const Elf64_Shdr& section : elf->sections()) {
    if (section.sh_type != SHT_DYNAMIC || section.sh_link >= elf->sections().size()) continue;
    const ImageRange entries = raw_section_bytes(image, section);
    const ImageRange names = raw_section_bytes(image, elf->sections()[section.sh_link]);
    const std::string_view text(reinterpret_cast<const char*>(names.bytes.data()),
                                names.bytes.size());
    for_each_in<Elf64_Dyn>(entries.bytes, [&](const Elf64_Dyn& entry) {
      if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= text.size()) return;
      const std::string_view name = text.substr(entry.d_un.d_val);
      found = found || std::ranges::any_of(first_libraries, [&](std::string_view beginning) {
                return name.starts_with(beginning);
              });
    });
  }
  return found;
}

bool gains_rights(const struct stat& file, const Executor& by) {
  return ((file.st_mode & S_ISUID) != 0 && file.st_uid != by.user) ||
         ((file.st_mode & S_ISGID) != 0 && file.st_gid != by.group);
}

}  // namespace

Executor ourselves() { return {.user = ::geteuid(), .group = ::getegid()}; }

Executor executor_in(pid_t pid) {
  struct stat status {};
  if (::stat(proc_path(pid, "task").c_str(), &status) != 0) return {};
  return {.user = status.st_uid, .group = status.st_gid};
}

std::string reason_in(const std::string& program, bool preloaded, const Executor& by) {
  const UniqueFd file = open_file(program);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return "";
  if (preloaded && gains_rights(status, by)) return "it gains another user's rights";
  // Root has them anyway.
  if (preloaded && by.user != 0 && ::fgetxattr(file.get(), "security.capability", nullptr, 0) > 0)
    return "it gains capabilities";
  Elf64_Ehdr header{};
  if (::pread(file.get(), &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return "";
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "it is a 32-bit program";
  for (unsigned i = 0; i < header.e_phnum && i < 64; ++i) {
    Elf64_Phdr segment{};
    const auto at = static_cast<off_t>(header.e_phoff + i * sizeof(segment));
    if (::pread(file.get(), &segment, sizeof(segment), at) != static_cast<ssize_t>(sizeof(segment)))
      return "";
    if (segment.p_type != PT_INTERP) continue;
    if (preloaded && needs_first_library(file.get()))
      return "it is made with a sanitizer, whose runtime must come first";
    return brings_malloc(program) ? own_allocator : "";
  }
  return is_valgrind_tool(file.get()) ? seen_by_nobody : "it is linked statically";
}

bool is_barred(const std::string& program) {
  const UniqueFd file = open_file(program);
  return file && (elf_class(file.get()) == ElfClass::other || needs_first_library(file.get()));
}

std::string program_at(const std::string& path) {
  try {
    return program_file(find_program(path));
  } catch (const Error&) {
    return "";
  }
}

bool has_valgrind_malloc(pid_t pid) {
  constexpr std::string_view begins = "vgpreload_", of_all_tools = "vgpreload_core";
  const std::optional<std::vector<MapsLine>> maps = read_maps(pid);
  return !maps || std::ranges::any_of(*maps, [&](const MapsLine& line) {
    const std::string name = line.path.substr(line.path.rfind('/') + 1);
    return name.starts_with(begins) && !name.starts_with(of_all_tools);
  });
}

std::string executed_file(pid_t pid, const std::string& path) {
  try {
    if (path.find('/') == std::string::npos) return program_file(find_program(path));
    const std::string from = path.starts_with('/') ? "root" : "cwd/";
    return program_file(proc_path(pid, from) + path);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace memflame::inside
