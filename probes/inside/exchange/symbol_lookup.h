// SPDX-License-Identifier: BSD-2-Clause
// Finds a symbol in a loaded object by its dynamic tables, as the dynamic linker does. The agent
// reads them in its own process, memflame in another one, where nothing can be trusted.
//
// Memory has `template <class T> bool read(uint64_t address, T& to) const` and
// `bool is_text(uint64_t address, const char* text) const`: whether that text with its zero byte is
// there.
#pragma once

#include <elf.h>
#include <stddef.h>  // NOLINT(modernize-deprecated-headers): the agent has no C++ library
#include <stdint.h>  // NOLINT(modernize-deprecated-headers)

namespace memflame::inside {

// Addresses in memory; 0 = not there.
struct DynamicTables {
  uint64_t symbols = 0, names = 0;
  uint64_t gnu_hash = 0, old_hash = 0;
  uint64_t versions = 0;                           // DT_VERSYM
  uint64_t calls = 0, call_bytes = 0;              // DT_JMPREL
  uint64_t relocations = 0, relocation_bytes = 0;  // DT_RELA
  uint64_t relative = 0;  // of them, those at the beginning without a symbol
};

struct FoundSymbol {
  uint64_t address = 0;  // 0: it is not defined here
  uint64_t size = 0;
  uint8_t type = STT_NOTYPE;
};

constexpr uint32_t most_dynamic_entries = 256;
constexpr uint32_t most_chained = 1 << 16;

// `dynamic`: the address of PT_DYNAMIC. glibc adds the object's base to the addresses in it, but
// cannot do so where it is read-only.
template <class Memory>
DynamicTables dynamic_tables(const Memory& memory, uint64_t base, uint64_t dynamic) {
  DynamicTables tables;
  const auto moved = [base](uint64_t address) { return address < base ? address + base : address; };
  for (uint32_t i = 0; i < most_dynamic_entries; ++i) {
    Elf64_Dyn entry{};
    if (!memory.read(dynamic + i * sizeof(entry), entry) || entry.d_tag == DT_NULL) break;
    const uint64_t value = entry.d_un.d_val;
    switch (entry.d_tag) {
      case DT_SYMTAB:
        tables.symbols = moved(value);
        break;
      case DT_STRTAB:
        tables.names = moved(value);
        break;
      case DT_GNU_HASH:
        tables.gnu_hash = moved(value);
        break;
      case DT_HASH:
        tables.old_hash = moved(value);
        break;
      case DT_VERSYM:
        tables.versions = moved(value);
        break;
      case DT_JMPREL:
        tables.calls = moved(value);
        break;
      case DT_PLTRELSZ:
        tables.call_bytes = value;
        break;
      case DT_RELA:
        tables.relocations = moved(value);
        break;
      case DT_RELASZ:
        tables.relocation_bytes = value;
        break;
      case DT_RELACOUNT:
        tables.relative = value;
        break;
      default:
        break;
    }
  }
  return tables;
}

template <class Memory>
bool defines(const Memory& memory, const DynamicTables& tables, uint64_t base, uint32_t index,
             const char* name, FoundSymbol& found) {
  Elf64_Sym symbol{};
  if (!memory.read(tables.symbols + uint64_t{index} * sizeof(symbol), symbol)) return false;
  // An undefined symbol may have an address too: that of the program's own linkage table.
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return false;
  if (!memory.is_text(tables.names + symbol.st_name, name)) return false;
  // Older versions of a function are for programs that were linked with them.
  constexpr uint16_t older = 0x8000;
  uint16_t version = 0;
  if (tables.versions != 0 &&
      (!memory.read(tables.versions + uint64_t{index} * sizeof(version), version) ||
       (version & older) != 0))
    return false;
  found = {base + symbol.st_value, symbol.st_size, static_cast<uint8_t>(symbol.st_info & 15)};
  return true;
}

// The hash of DT_GNU_HASH: h * 33 + c, from 5381.
inline uint32_t gnu_hash_of(const char* name) {
  uint32_t hash = 5381;
  for (; *name != 0; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// The hash of DT_HASH (System V gABI, "Hash Table").
inline uint32_t old_hash_of(const char* name) {
  uint32_t hash = 0;
  for (; *name != 0; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
  }
  return hash;
}

template <class Memory>
FoundSymbol find_by_gnu_hash(const Memory& memory, const DynamicTables& tables, uint64_t base,
                             const char* name) {
  struct {
    uint32_t buckets, first, bloom_words, shift;
  } header{};
  FoundSymbol found;
  if (!memory.read(tables.gnu_hash, header) || header.buckets == 0) return found;
  const uint32_t hash = gnu_hash_of(name);
  const uint64_t buckets = tables.gnu_hash + sizeof(header) + uint64_t{header.bloom_words} * 8;
  const uint64_t chains = buckets + uint64_t{header.buckets} * 4;
  uint32_t index = 0;
  if (!memory.read(buckets + uint64_t{hash % header.buckets} * 4, index)) return found;
  if (index == 0 || index < header.first) return found;
  for (uint32_t steps = 0; steps < most_chained; ++steps, ++index) {
    uint32_t link = 0;
    if (!memory.read(chains + uint64_t{index - header.first} * 4, link)) return found;
    if ((link | 1) == (hash | 1) && defines(memory, tables, base, index, name, found)) return found;
    if ((link & 1) != 0) break;
  }
  return found;
}

template <class Memory>
FoundSymbol find_by_old_hash(const Memory& memory, const DynamicTables& tables, uint64_t base,
                             const char* name) {
  struct {
    uint32_t buckets, chains;
  } header{};
  FoundSymbol found;
  if (!memory.read(tables.old_hash, header) || header.buckets == 0) return found;
  const uint64_t buckets = tables.old_hash + sizeof(header);
  const uint64_t chains = buckets + uint64_t{header.buckets} * 4;
  uint32_t index = 0;
  if (!memory.read(buckets + uint64_t{old_hash_of(name) % header.buckets} * 4, index)) return found;
  for (uint32_t steps = 0; index != 0 && steps < most_chained; ++steps) {
    if (defines(memory, tables, base, index, name, found)) return found;
    if (index >= header.chains || !memory.read(chains + uint64_t{index} * 4, index)) break;
  }
  return found;
}

template <class Memory>
FoundSymbol find_symbol(const Memory& memory, const DynamicTables& tables, uint64_t base,
                        const char* name) {
  if (tables.symbols == 0 || tables.names == 0) return {};
  if (tables.gnu_hash != 0) return find_by_gnu_hash(memory, tables, base, name);
  return tables.old_hash != 0 ? find_by_old_hash(memory, tables, base, name) : FoundSymbol{};
}

}  // namespace memflame::inside
