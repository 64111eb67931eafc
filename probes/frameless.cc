#include "probes/frameless.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <cstdlib>
#include <unordered_map>

namespace memflame {

struct Frameless::Tables {
  Elf* elf = nullptr;
  Dwarf_CFI* cfi = nullptr;
  std::unordered_map<uint64_t, bool> known;

  ~Tables() {
    if (cfi != nullptr) dwarf_cfi_end(cfi);
    if (elf != nullptr) elf_end(elf);
  }
};

Frameless::Frameless(int fd) : tables_(std::make_unique<Tables>()) {
  elf_version(EV_CURRENT);
  tables_->elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  if (tables_->elf != nullptr) tables_->cfi = dwarf_getcfi_elf(tables_->elf);
}
Frameless::Frameless(Frameless&&) noexcept = default;
Frameless& Frameless::operator=(Frameless&&) noexcept = default;
Frameless::~Frameless() = default;

namespace {

// CFA = register 7 (rsp) + 8, the x86-64 DWARF register numbers of the psABI.
bool frame_begins_at_rsp_plus_8(Dwarf_CFI* cfi, uint64_t address) {
  Dwarf_Frame* frame = nullptr;
  if (dwarf_cfi_addrframe(cfi, address, &frame) != 0) return false;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  const bool is = dwarf_frame_cfa(frame, &ops, &count) == 0 && count == 1 &&
                  ((ops[0].atom == DW_OP_breg7 && ops[0].number == 8) ||
                   (ops[0].atom == DW_OP_bregx && ops[0].number == 7 && ops[0].number2 == 8));
  std::free(frame);  // NOLINT(cppcoreguidelines-no-malloc): libdw documents it so
  return is;
}

}  // namespace

bool Frameless::return_address_on_top(uint64_t file_offset) const {
  if (tables_->cfi == nullptr) return false;
  const auto [entry, added] = tables_->known.try_emplace(file_offset, false);
  if (!added) return entry->second;
  size_t count = 0;
  elf_getphdrnum(tables_->elf, &count);
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(tables_->elf, static_cast<int>(i), &segment) == nullptr) break;
    if (segment.p_type == PT_LOAD && file_offset >= segment.p_offset &&
        file_offset - segment.p_offset < segment.p_filesz)
      entry->second = frame_begins_at_rsp_plus_8(tables_->cfi,
                                                 file_offset - segment.p_offset + segment.p_vaddr);
  }
  return entry->second;
}

}  // namespace memflame
