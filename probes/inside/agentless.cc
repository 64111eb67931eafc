// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/agentless.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "core/elf/symbols.h"
#include "core/elf/valgrind.h"
#include "core/error.h"
#include "core/unique_fd.h"
#include "probes/processes/procfs.h"
#include "probes/processes/program_files.h"

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
    if (segment.p_type == PT_INTERP) return brings_malloc(program) ? own_allocator : "";
  }
  return is_valgrind_tool(file.get()) ? seen_by_nobody : "it is linked statically";
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
