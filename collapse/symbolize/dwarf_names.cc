// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/dwarf_names.h"

#include <dwarf.h>

#include "collapse/symbolize/demangle.h"
#include "collapse/symbolize/dwarf_walk.h"

namespace memflame {
namespace {

bool has_scopes(Dwarf_Die& unit) {
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
      return false;
    default:
      return true;
  }
}

const char* linkage_name(Dwarf_Die& die) {
  for (const unsigned int name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(&die, name, &attribute) != nullptr)
      return dwarf_formstring(&attribute);
  }
  return nullptr;
}

// The entry that `die` refers to for attributes it lacks.
bool follow(const Dwarf_Die& die, Dwarf_Die& origin) {
  Dwarf_Die from = die;
  Dwarf_Attribute attribute;
  return (dwarf_attr(&from, DW_AT_abstract_origin, &attribute) != nullptr ||
          dwarf_attr(&from, DW_AT_specification, &attribute) != nullptr) &&
         dwarf_formref_die(&attribute, &origin) != nullptr;
}

}  // namespace

// Collects the functions of a unit that are declared inside something.
struct DwarfNames::ScopeWalk {
  Scopes& scopes;

  bool operator()(Dwarf_Die& die, uint32_t& scope) {
    switch (dwarf_tag(&die)) {
      case DW_TAG_subprogram:
        if (scope != 0) scopes.of.emplace(dwarf_dieoffset(&die), scope);
        break;
      case DW_TAG_namespace:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_enumeration_type:  // Rust's have functions
      case DW_TAG_module:
        break;
      default:
        return dwarf_tag(&die) == DW_TAG_lexical_block;
    }
    if (dwarf_haschildren(&die) <= 0) return false;
    scopes.all.push_back({scope, dwarf_dieoffset(&die)});
    scope = static_cast<uint32_t>(scopes.all.size() - 1);
    return true;
  }
};

const std::string& DwarfNames::name(Dwarf_Die die) {
  // Inlined copies of one function share the name of their origin.
  Dwarf_Die origin;
  if (!follow(die, origin)) origin = die;
  constexpr uint64_t alternate = uint64_t{1} << 63;
  const bool here = dwarf_cu_getdwarf(origin.cu) == dwarf_;
  const auto [place, added] =
      names_.try_emplace(dwarf_dieoffset(&origin) | (here ? 0 : alternate), std::string());
  // Making the name may need further names and so rehash the table, but does not move its values.
  std::string& made = place->second;
  if (added) made = make_name(origin);
  return made;
}

std::string DwarfNames::make_name(Dwarf_Die& die) {
  if (const char* mangled = linkage_name(die)) return demangle(mangled);
  const char* plain = dwarf_diename(&die);
  return plain == nullptr ? std::string() : scope_prefix(die) + plain;
}

std::string DwarfNames::scope_prefix(const Dwarf_Die& die) {
  // The declaration knows the scope: a definition refers to it.
  Dwarf_Die declaration = die, unit;
  for (int step = 0; step < 8 && follow(declaration, declaration); ++step) {
  }
  if (dwarf_cu_getdwarf(declaration.cu) != dwarf_ ||
      dwarf_diecu(&declaration, &unit, nullptr, nullptr) == nullptr)
    return {};
  const Scopes& scopes = scopes_of_unit(unit);
  const auto scope = scopes.of.find(dwarf_dieoffset(&declaration));
  std::string prefix;
  for (uint32_t i = scope == scopes.of.end() ? 0 : scope->second; i != 0; i = scopes.all[i].outer) {
    Dwarf_Die outer;
    if (dwarf_offdie(dwarf_, scopes.all[i].die, &outer) == nullptr) break;
    if (dwarf_tag(&outer) == DW_TAG_subprogram) {
      // A function around this one brings its own scopes. No compiler nests them deeply.
      if (++depth_ < 16) prefix.insert(0, name(outer) + "::");
      --depth_;
      break;
    }
    const char* plain = dwarf_diename(&outer);
    if (plain == nullptr)
      plain = dwarf_tag(&outer) == DW_TAG_namespace ? "(anonymous namespace)" : "{lambda}";
    prefix.insert(0, std::string(plain) + "::");
  }
  return prefix;
}

const DwarfNames::Scopes& DwarfNames::scopes_of_unit(Dwarf_Die& unit) {
  const auto [place, added] = scopes_.try_emplace(dwarf_dieoffset(&unit), Scopes{});
  if (added && has_scopes(unit)) {
    ScopeWalk walk{place->second};
    walk_tree(unit, walk);
  }
  return place->second;
}

}  // namespace memflame
