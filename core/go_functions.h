// SPDX-License-Identifier: BSD-2-Clause
// The functions of a Go program, from the table that its runtime needs: .gopclntab, which stripping
// leaves in place. It has each function's name and addresses, and for each of its instructions how
// far the stack pointer has moved.
//
// Source: debug/gosym/pclntab.go, runtime/symtab.go and cmd/internal/obj/pcln.go of Go 1.2 to 1.25;
// the forms of 1.2, 1.16, 1.18 and 1.20.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace memflame {

// Names of the section: in programs at a fixed address, and in all others.
inline constexpr std::initializer_list<const char*> go_sections = {".gopclntab",
                                                                   ".data.rel.ro.gopclntab"};

// How the table of Go 1.20 and newer begins.
inline constexpr uint32_t go_form_1_20 = 0xfffffff1;

class GoFunctions {
 public:
  // Fills `to` with the file's code at an address; false if the file has fewer bytes there.
  using ReadCode = std::function<bool(uint64_t address, std::span<std::byte> to)>;

  // `table`: the section's bytes, which must outlive this. `text`: where the section .text begins,
  // or 0. Finds nothing unless the code of runtime.goexit is where the table says: in some programs
  // addresses count from a place that only the linker knows. Never throws whatever the table holds;
  // memory and time are proportional to its size.
  GoFunctions(std::span<const std::byte> table, uint64_t text, const ReadCode& read);

  struct Function {
    uint64_t start = 0, end = 0;  // virtual addresses
    uint64_t info = 0;            // where its description is in the table
  };
  // Sorted by address, without overlaps.
  const std::vector<Function>& functions() const { return functions_; }
  // The one that holds an address; null if none does.
  const Function* find(uint64_t address) const;
  // "main.(*Server).run"; empty if it cannot be read. Valid as long as the table.
  std::string_view name(const Function& function) const;

  struct Depth {
    uint64_t start = 0;  // virtual address; the depth holds up to the next entry
    uint32_t bytes = 0;  // how far the stack pointer is below the return address
  };
  // For the whole function, starting at its first byte; empty if the table does not say.
  std::vector<Depth> depths(const Function& function) const;

  // What GoLines reads further.
  struct Layout {
    bool wide = false;            // entries have 8 bytes, not 4
    bool has_header = false;      // the header says where names and the stack's depths are
    bool has_lines = false;       // the form of 1.18 or 1.20
    bool has_first_line = false;  // that of 1.20: descriptions say where the function begins
    uint64_t text = 0;            // what addresses count from; 0 for wide forms
    // Offsets in the table: of its parts. `depths` has all lists of values by address.
    uint64_t count = 0, names = 0, units = 0, files = 0, depths = 0, functions = 0;
  };
  const Layout& layout() const { return layout_; }
  std::span<const std::byte> table() const { return table_; }
  // Reads a number at an offset in the table, which moves behind it; false if there is none.
  bool take_number(uint64_t& at, uint32_t& value) const;

 private:
  template <class T>
  std::optional<T> number(uint64_t at) const;
  std::optional<Layout> read_layout() const;
  std::vector<Function> read_functions(const Layout& layout, uint64_t text) const;
  bool has_goexit(const ReadCode& read) const;

  std::span<const std::byte> table_;
  Layout layout_;
  std::vector<Function> functions_;
};

}  // namespace memflame
