// SPDX-License-Identifier: BSD-2-Clause
// Names of functions as DWARF describes them.
#pragma once

#include <elfutils/libdw.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace memflame {

class DwarfNames {
 public:
  explicit DwarfNames(Dwarf* dwarf) : dwarf_(dwarf) {}

  // The demangled linkage name; if there is none (in C, and for what is not visible outside its
  // unit), the plain name behind its namespaces and classes. Empty if it has no name.
  const std::string& name(Dwarf_Die die);

 private:
  // A class, namespace or function that declares others.
  struct Scope {
    uint32_t outer;  // index in Scopes::all; 0 is none
    Dwarf_Off die;
  };
  struct Scopes {
    std::vector<Scope> all{Scope{}};
    std::unordered_map<Dwarf_Off, uint32_t> of;  // subprogram -> index in all
  };
  struct ScopeWalk;

  std::string make_name(Dwarf_Die& die);
  std::string scope_prefix(const Dwarf_Die& die);
  const Scopes& scopes_of_unit(Dwarf_Die& unit);

  Dwarf* dwarf_;
  std::unordered_map<uint64_t, std::string> names_;  // by offset; top bit: in the alternate file
  std::unordered_map<Dwarf_Off, Scopes> scopes_;     // by unit
  int depth_ = 0;
};

}  // namespace memflame
