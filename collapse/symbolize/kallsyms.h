// SPDX-License-Identifier: BSD-2-Clause
// Names of kernel code.
#pragma once

#include <string>
#include <string_view>

#include "collapse/symbolize/symbol_table.h"

namespace memflame {

class Kallsyms {
 public:
  struct Name {
    std::string_view function;
    std::string_view module;  // "kernel", or as the kernel writes it: "[nf_tables]", "[bpf]"
  };

  // `text`: lines "ADDRESS TYPE name", with "\t[module]" behind names of modules.
  explicit Kallsyms(std::string text);
  Kallsyms(const Kallsyms&) = delete;  // the table holds views of the text
  Kallsyms& operator=(const Kallsyms&) = delete;

  // True if the kernel hides its addresses (all are zero, see kernel.kptr_restrict) or the text is
  // empty.
  bool hidden() const { return table_.size() == 0; }

  // Empty names if the address is not known.
  Name find(uint64_t address) const;

 private:
  std::string text_;
  SymbolTable table_;
};

// Whole text of a file, "" if it cannot be read. For files of /proc, whose size is not known.
std::string read_text(const std::string& path);

}  // namespace memflame
