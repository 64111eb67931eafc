// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/elf_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/elf/build_id.h"
#include "core/hex.h"

namespace memflame {
namespace {

int no_other_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }

const Dwfl_Callbacks callbacks{.find_elf = no_other_file,
                               .find_debuginfo = find_debug_file,
                               .section_address = nullptr,
                               .debuginfo_path = nullptr};

// Whether a file that was opened by its name differs from the one that was mapped, as far as that
// shows without a build id: at least it must have the same inode. A program that is linked again
// often gets the inode of the one before it.
bool is_other_file(const Module& module, const struct stat& status) {
  if (module.kind == ModuleKind::vdso || module.file.get() >= 0 || !module.build_id.empty())
    return false;
  const int64_t changed = status.st_mtim.tv_sec;
  constexpr int64_t second = 1'000'000'000;
  return (!module.any_inode && status.st_ino != module.inode) ||
         changed > module.unchanged_since_ns / second;
}

}  // namespace

ElfFile::ElfFile(const Module& module, FileSource& files) {
  search_.files = &files;
  problem_ = open(module);
}

ElfProblem ElfFile::open(const Module& module) {
  const auto [found, file] = search_.files->open({});
  if (found == Found::not_elf) return ElfProblem::not_elf;
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return ElfProblem::unreadable;
  if (is_other_file(module, status)) return ElfProblem::replaced;
  unchecked_ = module.any_inode && module.build_id.empty() && module.file.get() < 0;
  search_.file.device = status.st_dev;
  search_.file.inode = status.st_ino;

  dwfl_.reset(dwfl_begin(&callbacks));
  if (!dwfl_) return ElfProblem::unreadable;
  dwfl_report_begin(dwfl_.get());
  // libdwfl closes the descriptor it is given.
  const int fd = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);
  dwfl_module_ =
      dwfl_report_elf(dwfl_.get(), module.path.c_str(), module.path.c_str(), fd, 0, true);
  dwfl_report_end(dwfl_.get(), nullptr, nullptr);
  if (dwfl_module_ == nullptr) {
    ::close(fd);
    return ElfProblem::not_elf;
  }
  void** user_data = nullptr;
  dwfl_module_info(dwfl_module_, &user_data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  *user_data = &search_;
  elf_ = dwfl_module_getelf(dwfl_module_, &bias_);
  GElf_Ehdr header;
  if (elf_ == nullptr || gelf_getehdr(elf_, &header) == nullptr ||
      (header.e_type != ET_EXEC && header.e_type != ET_DYN))
    return ElfProblem::not_elf;

  search_.file.build_id = build_id_of(file.get());
  if (!module.build_id.empty() && search_.file.build_id != module.build_id)
    return ElfProblem::replaced;

  size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) return ElfProblem::not_elf;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_, static_cast<int>(i), &segment) != nullptr && segment.p_type == PT_LOAD)
      segments_.push_back(
          {segment.p_offset, segment.p_vaddr, segment.p_filesz, (segment.p_flags & PF_X) != 0});
  }
  return ElfProblem::none;
}

const ElfFile::Segment* ElfFile::segment_of(uint64_t offset) const {
  // The same bytes can be in two segments (linkers that save space let them overlap in a page); the
  // search is for code, so an executable segment is preferred.
  const Segment* found = nullptr;
  for (const Segment& s : segments_)
    if (offset >= s.offset && offset - s.offset < s.size && (found == nullptr || !found->code))
      found = &s;
  return found;
}

std::optional<uint64_t> ElfFile::address_of(uint64_t offset) const {
  const Segment* segment = segment_of(offset);
  if (segment == nullptr) return std::nullopt;
  return segment->address + (offset - segment->offset);
}

std::optional<CodeMapping> ElfFile::mapping_of(uint64_t offset) const {
  const Segment* segment = segment_of(offset);
  if (segment == nullptr) return std::nullopt;
  const uint64_t before = std::min(segment->address, segment->offset) % code_page;
  const uint64_t end = segment->address + segment->size;
  return CodeMapping{.file = {},
                     .build_id = search_.file.build_id,
                     .start = segment->address - before,
                     .limit = end + (code_page - end % code_page) % code_page,
                     .offset = segment->offset - before};
}

uint64_t ElfFile::code_end(uint64_t address) const {
  for (const Segment& s : segments_)
    if (s.code && address >= s.address && address - s.address < s.size) return s.address + s.size;
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
  Dwarf* dwarf = dwfl_module_getdwarf(dwfl_module_, &bias);
  if (dwarf == nullptr) return nullptr;
  if (!alternate_ && !attach_alternate(dwarf)) return nullptr;
  // libdwfl's bias counts from its own addresses: ours minus this gives theirs.
  bias -= bias_;
  return dwarf;
}

}  // namespace memflame
