// SPDX-License-Identifier: BSD-2-Clause
// One mapped ELF file with its debug information, opened through libdwfl.
#pragma once

#include <elfutils/libdwfl.h>

#include <memory>
#include <optional>

#include "collapse/symbolize/debug_files.h"
#include "collapse/symbolize/zstd_sections.h"
#include "core/elf/image.h"

namespace memflame {

enum class ElfProblem : uint8_t {
  none,
  unreadable,  // could not be opened
  not_elf,     // something else, e.g. memory files that a JIT writes its code to
  replaced,    // the file there now is not the one that was mapped
  not_wanted,  // files must not be opened
};

// Addresses are those the linker gave ("virtual addresses" of the file), never those of a process.
class ElfFile {
 public:
  // `files` must outlive this.
  ElfFile(const Module& module, FileSource& files);
  ElfFile(const ElfFile&) = delete;  // libdwfl holds a pointer to search_
  ElfFile& operator=(const ElfFile&) = delete;

  ElfProblem problem() const { return problem_; }
  // True if nothing tells whether this is the file that was mapped.
  bool unchecked() const { return unchecked_; }

  // The address of the byte at `offset` in the file, by the program headers. Nothing is guessed
  // from a load bias: segments need not be page-aligned, nor a constant distance apart.
  std::optional<uint64_t> address_of(uint64_t offset) const;
  // The pages of the segment that holds that byte, as a loader maps them, and the file's build id;
  // CodeMapping::file is empty.
  std::optional<CodeMapping> mapping_of(uint64_t offset) const;
  // End of the executable segment that holds `address`; 0 if there is none.
  uint64_t code_end(uint64_t address) const;

  // Read with pread, apart from libdwfl.
  const ImageBytes& image() const { return image_; }
  const ElfImage& headers() const { return headers_; }
  Dwfl_Module* module() const { return dwfl_module_; }
  // Has read a file of the module, perhaps its debug file: before dwarf() is called.
  void met(Elf* elf) { unpacked_.unpack(elf); }
  // Whether debug information is there, but could not be unpacked.
  bool is_packed() const { return unpacked_.failed(); }
  // nullptr if there is no DWARF; its addresses are ours minus `bias`.
  Dwarf* dwarf(Dwarf_Addr& bias);
  // What libdwfl adds to the addresses of the file, in getsym_info and the like.
  Dwarf_Addr bias() const { return bias_; }

 private:
  const Elf64_Phdr* segment_of(uint64_t offset) const;
  struct CloseDwfl {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  struct CloseDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };

  ElfProblem open(const Module& module);
  bool open_for_names(const std::string& path);  // false if libdwfl does not take it
  bool attach_alternate(Dwarf* dwarf);

  DebugSearch search_;
  SharedFd file_;
  ImageBytes image_{-1};
  ElfImage headers_;
  SharedFd alternate_file_;
  ZstdSections unpacked_;                         // outlives dwfl_
  std::unique_ptr<Dwarf, CloseDwarf> alternate_;  // outlives dwfl_, which refers to it
  std::unique_ptr<Dwfl, CloseDwfl> dwfl_;
  Dwfl_Module* dwfl_module_ = nullptr;
  Dwarf_Addr bias_ = 0;
  ElfProblem problem_ = ElfProblem::none;
  bool unchecked_ = false;
};

}  // namespace memflame
