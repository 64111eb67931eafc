// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/elf_symbols.h"

#include <gelf.h>

#include "collapse/symbolize/demangle.h"
#include "collapse/symbolize/plt.h"

namespace memflame {
namespace {

// Symbol tables of libraries carry versions: "malloc@@GLIBC_2.2.5".
std::string_view without_version(std::string_view name) {
  const size_t at = name.find('@');
  return at == 0 ? name : name.substr(0, at);
}

// End of what a symbol at `address` may cover: its section, or its segment if the file has no
// section headers. 0 if that is not code.
uint64_t code_limit(const ElfFile& file, Elf* symbol_file, GElf_Word section, uint64_t address) {
  const uint64_t segment_end = file.code_end(address);
  GElf_Shdr header;
  // Section numbers of a debug file are those of the file it was split from.
  Elf_Scn* scn = elf_getscn(symbol_file, section);
  if (segment_end == 0 || scn == nullptr || gelf_getshdr(scn, &header) == nullptr)
    return segment_end;
  if ((header.sh_flags & SHF_EXECINSTR) == 0) return 0;
  uint64_t end = 0;
  if (__builtin_add_overflow(header.sh_addr, header.sh_size, &end) || end <= address)
    return segment_end;
  return std::min(segment_end, end);
}

}  // namespace

ElfSymbols::ElfSymbols(const Module& module, bool dwarf, FileSource& files) : file_(module, files) {
  if (problem() != ElfProblem::none) return;
  read_symbols();
  if (!dwarf) return;
  if (Dwarf* data = file_.dwarf(dwarf_bias_)) dwarf_ = std::make_unique<DwarfIndex>(data);
}

void ElfSymbols::read_symbols() {
  std::vector<SymbolEntry> entries;
  const int count = dwfl_module_getsymtab(file_.module());
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = SHN_UNDEF;
    Elf* elf = nullptr;
    const char* name =
        dwfl_module_getsym_info(file_.module(), i, &symbol, &address, &section, &elf, nullptr);
    if (name == nullptr || *name == '\0' || section == SHN_UNDEF || section == SHN_ABS) continue;
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
    address -= file_.bias();
    const uint64_t limit = code_limit(file_, elf, section, address);
    if (limit == 0) continue;
    entries.push_back({.start = address,
                       .size = symbol.st_size,
                       .limit = limit,
                       .name = without_version(name),
                       .function = type != STT_NOTYPE,
                       .local = GELF_ST_BIND(symbol.st_info) == STB_LOCAL});
  }
  table_ = SymbolTable(entries);
  add_plt(entries);
}

void ElfSymbols::add_plt(std::vector<SymbolEntry>& entries) {
  const std::vector<PltStub> stubs =
      plt_stubs(file_, [this](uint64_t address) { return raw_name(address); });
  bool added = false;
  for (const PltStub& stub : stubs) {
    // Some linkers write symbols for stubs themselves.
    const SymbolEntry* known = table_.find(stub.start);
    if (known != nullptr && known->size != 0) continue;
    plt_names_.push_back(stub.name);
    entries.push_back({.start = stub.start,
                       .size = stub.size,
                       .limit = stub.start + stub.size,
                       .name = plt_names_.back()});
    added = true;
  }
  if (added) table_ = SymbolTable(std::move(entries));
}

std::string_view ElfSymbols::raw_name(uint64_t address) const {
  const SymbolEntry* entry = table_.find(address);
  return entry == nullptr ? std::string_view{} : entry->name;
}

std::optional<uint64_t> ElfSymbols::start_of(uint64_t address) {
  if (problem() != ElfProblem::none) return std::nullopt;
  if (!starts_) starts_.emplace(file_);
  return starts_->start_of(address);
}

std::vector<Symbol> ElfSymbols::find(uint64_t address) {
  const std::string_view name = raw_name(address);
  std::vector<Symbol> symbols;
  if (dwarf_)
    for (SourceFrame& frame : dwarf_->find(address - dwarf_bias_))
      symbols.push_back({.function = std::move(frame.function),
                         .file = std::move(frame.file),
                         .line = frame.line,
                         .start_line = frame.start_line,
                         .kind = symbols.empty() ? FrameKind::user : FrameKind::inlined,
                         .module = {}});
  // The symbol table knows clones (".cold", ".isra.0") and assembly better than DWARF does.
  if (symbols.empty() && !name.empty()) symbols.emplace_back();
  if (!name.empty()) symbols.front().function = demangle(name);
  if (!symbols.empty() && symbols.front().function.empty()) symbols.clear();
  if (!symbols.empty()) return symbols;
  if (const std::string_view known = stripped_name(address); !known.empty()) {
    symbols.emplace_back();
    symbols.front().function = known;
  }
  return symbols;
}

// A function's name in a file without symbols, as far as it can be told.
std::string_view ElfSymbols::stripped_name(uint64_t address) {
  if (const std::optional<uint64_t> start = start_of(address)) return starts_->name_of(*start);
  if (problem() != ElfProblem::none) return {};
  if (!go_) go_.emplace(file_);
  return go_->name_of(address);
}

}  // namespace memflame
