// SPDX-License-Identifier: BSD-2-Clause
// Source lines and inlined functions of a Go program, from the same table as its functions.
// Programs of Go 1.18 and newer; others have none.
//
// Source: runtime/symtab.go, runtime/symtabinl.go and cmd/internal/obj/pcln.go of Go 1.18 to 1.25.
#pragma once

#include "core/go_functions.h"

namespace memflame {

class GoLines {
 public:
  // What the source has at an address. Texts are valid as long as the table.
  struct Frame {
    std::string_view function, file;  // either may be empty
    uint32_t line = 0;                // 0: unknown
    uint64_t address = 0;             // in the function whose code it is, where the call is
  };

  // `inlined`: the address of the trees of inlined functions (Go's moduledata.gofunc), which `read`
  // reads from the file; 0: unknown, so no function is known to be inlined. Both arguments must
  // outlive this.
  GoLines(const GoFunctions& functions, const GoFunctions::ReadCode& read, uint64_t inlined)
      : functions_(functions), read_(read), inlined_(inlined) {}

  // The function at an address and those inlined into it there, innermost first; empty if it is in
  // no function. Bounded whatever the table holds.
  std::vector<Frame> at(uint64_t address) const;

 private:
  using Function = GoFunctions::Function;
  std::optional<int32_t> value(const Function& function, uint64_t table, uint64_t address) const;
  std::string_view text(uint64_t from, uint64_t offset) const;
  Frame frame(const Function& function, uint64_t address) const;
  std::optional<uint64_t> tree(const Function& function) const;
  std::optional<int32_t> place_in_tree(const Function& function, uint64_t address) const;

  const GoFunctions& functions_;
  const GoFunctions::ReadCode& read_;
  uint64_t inlined_;
};

}  // namespace memflame
