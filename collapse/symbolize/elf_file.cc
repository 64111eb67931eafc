// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/elf_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "core/elf/build_id.h"
#include "core/hex.h"

namespace memflame {
namespace {

int no_other_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }

const Dwfl_Callbacks callbacks{.find_elf = no_other_file,
                               .find_debuginfo = find_debug_file,
                               .section_address = nullptr,
                               .debuginfo_path = nullptr};

// By itself, libdw prints a line and ends the process.
__attribute__((noreturn)) void say_no_memory() { throw std::bad_alloc(); }

// Whether a file that was opened by its name differs from the one that was mapped, if there is no
// build id to compare. It must have the same inode, and must not have changed since: a program that
// is linked again often gets the inode of the old one.
bool is_other_file(const Module& module, const struct stat& status) {
  if (module.kind == ModuleKind::vdso || module.file.get() >= 0 || !module.build_id.empty())
    return false;
  constexpr int64_t second = 1'000'000'000;
  // Some formats have whole seconds.
  const bool is_exact = module.unchanged_since_ns % second != 0;
  const int64_t changed = status.st_mtim.tv_sec * second + (is_exact ? status.st_mtim.tv_nsec : 0);
  return (!module.any_inode && status.st_ino != module.inode) ||
         changed > module.unchanged_since_ns;
}

}  // namespace

ElfFile::ElfFile(const Module& module, FileSource& files) {
  search_.files = &files;
  problem_ = open(module);
}

ElfProblem ElfFile::open(const Module& module) {
  const OpenedFile opened = search_.files->open({});
  if (opened.found == Found::not_elf) return ElfProblem::not_elf;
  file_ = opened.file;
  struct stat status {};
  if (file_.get() < 0 || ::fstat(file_.get(), &status) != 0) return ElfProblem::unreadable;
  if (is_other_file(module, status)) return ElfProblem::replaced;
  unchecked_ = module.any_inode && module.build_id.empty() && module.file.get() < 0;
  search_.file.device = status.st_dev;
  search_.file.inode = status.st_ino;

  image_ = ImageBytes(file_.get());
  std::optional<ElfImage> headers = ElfImage::open_any(image_);
  if (!headers || (headers->type() != ET_EXEC && headers->type() != ET_DYN))
    return ElfProblem::not_elf;
  headers_ = std::move(*headers);
  search_.file.build_id = build_id_of(file_.get());
  if (!module.build_id.empty() && search_.file.build_id != module.build_id)
    return ElfProblem::replaced;
  return open_for_names(module.path) ? ElfProblem::none : ElfProblem::not_elf;
}

bool ElfFile::open_for_names(const std::string& path) {
  dwfl_.reset(dwfl_begin(&callbacks));
  if (!dwfl_) return false;
  dwfl_report_begin(dwfl_.get());
  // libdwfl closes the descriptor it is given.
  const int fd = ::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0);
  dwfl_module_ = dwfl_report_elf(dwfl_.get(), path.c_str(), path.c_str(), fd, 0, true);
  dwfl_report_end(dwfl_.get(), nullptr, nullptr);
  if (dwfl_module_ == nullptr) {
    ::close(fd);
    return false;
  }
  void** user_data = nullptr;
  dwfl_module_info(dwfl_module_, &user_data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  *user_data = &search_;
  return dwfl_module_getelf(dwfl_module_, &bias_) != nullptr;
}

const Elf64_Phdr* ElfFile::segment_of(uint64_t offset) const {
  // The same bytes can be in two segments (linkers that save space let them overlap in a page); the
  // search is for code, so an executable segment is preferred.
  const Elf64_Phdr* found = nullptr;
  for (const Elf64_Phdr& s : headers_.segments())
    if (s.p_type == PT_LOAD && offset >= s.p_offset && offset - s.p_offset < s.p_filesz &&
        (found == nullptr || !is_code(*found)))
      found = &s;
  return found;
}

std::optional<uint64_t> ElfFile::address_of(uint64_t offset) const {
  const Elf64_Phdr* segment = segment_of(offset);
  if (segment == nullptr) return std::nullopt;
  return segment->p_vaddr + (offset - segment->p_offset);
}

std::optional<CodeMapping> ElfFile::mapping_of(uint64_t offset) const {
  const Elf64_Phdr* segment = segment_of(offset);
  if (segment == nullptr) return std::nullopt;
  const uint64_t before = std::min(segment->p_vaddr, segment->p_offset) % code_page;
  const uint64_t end = segment->p_vaddr + segment->p_filesz;
  return CodeMapping{.file = {},
                     .build_id = search_.file.build_id,
                     .start = segment->p_vaddr - before,
                     .limit = end + (code_page - end % code_page) % code_page,
                     .offset = segment->p_offset - before};
}

uint64_t ElfFile::code_end(uint64_t address) const {
  for (const Elf64_Phdr& s : headers_.segments())
    if (is_code(s) && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return s.p_vaddr + s.p_filesz;
  return 0;
}

// dwz moves what several files share into one more file. Without it names and types are missing
// inside the data, so the DWARF is used with it or not at all. (libdw on its own would look for the
// file when it needs it, under a name that the watched program chose.)
bool ElfFile::attach_alternate(Dwarf* dwarf) {
  const char* name = nullptr;
  const void* bits = nullptr;
  const ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bits);
  if (size <= 0) return size == 0;
  alternate_file_ = find_by_build_id(
      *search_.files, hex(Bytes(static_cast<const std::byte*>(bits), static_cast<size_t>(size))));
  if (alternate_file_.get() < 0) return false;
  alternate_.reset(dwarf_begin(alternate_file_.get(), DWARF_C_READ));
  if (!alternate_) return false;
  dwarf_setalt(dwarf, alternate_.get());
  return true;
}

Dwarf* ElfFile::dwarf(Dwarf_Addr& bias) {
  GElf_Addr ignored = 0;
  unpacked_.unpack(dwfl_module_getelf(dwfl_module_, &ignored));
  Dwarf* dwarf = dwfl_module_getdwarf(dwfl_module_, &bias);
  if (dwarf == nullptr) return nullptr;
  dwarf_new_oom_handler(dwarf, say_no_memory);
  if (!alternate_ && !attach_alternate(dwarf)) return nullptr;
  // libdwfl's bias counts from its own addresses: ours minus this gives theirs.
  bias -= bias_;
  return dwarf;
}

}  // namespace memflame
