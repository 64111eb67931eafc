// SPDX-License-Identifier: BSD-2-Clause
// The memory of another process, and what is loaded in it: read from its memory alone, so that it
// does not matter whether the files are still there. Nothing in it is trusted: what makes no sense
// is not there.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "probes/inside/exchange/symbol_lookup.h"
#include "probes/system/procfs.h"

namespace memflame::inside {

class RemoteMemory {
 public:
  explicit RemoteMemory(pid_t pid) : pid_(pid) {}

  // As many bytes as can be read from there on.
  size_t read_some(uint64_t address, std::span<std::byte> to) const;
  bool write(uint64_t address, std::span<const std::byte> bytes) const;
  template <class T>
  bool read(uint64_t address, T& to) const {
    return read_some(address, std::as_writable_bytes(std::span(&to, 1))) == sizeof(T);
  }
  template <class T>
  bool write_value(uint64_t address, const T& value) const {
    return write(address, std::as_bytes(std::span(&value, 1)));
  }
  bool is_text(uint64_t address, const char* text) const;
  std::string text(uint64_t address) const;  // at most 1024 bytes of it

 private:
  pid_t pid_;
};

// A program or library that is loaded, by its mappings.
struct LoadedObject {
  uint64_t start = 0, end = 0;  // of all its memory
  uint64_t base = 0;
  DynamicTables tables;
  std::string path;

  bool holds(uint64_t address) const { return address >= start && address < end; }
  FoundSymbol find(const RemoteMemory& memory, const char* name) const {
    return find_symbol(memory, tables, base, name);
  }
};

// By address. Files that are only read as data are not among them.
std::vector<LoadedObject> loaded_objects(const RemoteMemory& memory,
                                         const std::vector<MapsLine>& maps);

}  // namespace memflame::inside
