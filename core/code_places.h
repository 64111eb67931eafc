// SPDX-License-Identifier: BSD-2-Clause
// Where code is: the file, and the address in it. For output formats whose readers look up names by
// address; filled only for those (FoldOptions::code, ReadOptions::code).
#pragma once

#include <cstdint>
#include <string>

#include "core/hash.h"
#include "core/ids.h"
#include "core/interner.h"

namespace memflame {

// Mappings begin and end at multiples of this.
inline constexpr uint64_t code_page = 4096;

// A part of a file. Its addresses are those that the linker gave, the same in all processes; if the
// file could not be read as ELF, they are offsets in it. address - start + offset is the offset in
// the file.
struct CodeMapping {
  std::string file, build_id;  // as the target names it; lower-case hex, empty when unknown
  uint64_t start = 0, limit = 0, offset = 0;
  friend bool operator==(const CodeMapping&, const CodeMapping&) = default;
};
using CodeMappingId = Id<struct CodeMappingTag>;

struct CodePlace {
  CodeMappingId mapping;
  uint64_t address = 0;  // in the call instruction, not behind it
  friend bool operator==(const CodePlace&, const CodePlace&) = default;
};
using CodeId = Id<struct CodeTag>;

class CodePlaces {
 public:
  CodeMappingId add(const CodeMapping& mapping) { return mappings_.intern(mapping); }
  CodeId add(const CodePlace& place) { return places_.intern(place); }
  // Records that a process was started from this file.
  void mark_program(CodeMappingId mapping) {
    if (is_program_.size() <= mapping.index) is_program_.resize(mapping.index + size_t{1}, false);
    is_program_[mapping.index] = true;
  }

  const CodeMapping& operator[](CodeMappingId id) const { return mappings_[id]; }
  const CodePlace& operator[](CodeId id) const { return places_[id]; }
  bool is_program(CodeMappingId id) const {
    return id.index < is_program_.size() && is_program_[id.index];
  }
  size_t mappings() const { return mappings_.size(); }  // ids are below that
  size_t size() const { return places_.size(); }
  bool empty() const { return places_.size() == 1; }

  // Adds a place of another table, and returns its id here.
  CodeId add(const CodePlaces& from, CodeId id) {
    if (!id) return {};
    const CodePlace& place = from[id];
    const CodeMappingId mapping = add(from[place.mapping]);
    if (from.is_program(place.mapping)) mark_program(mapping);
    return add({mapping, place.address});
  }

 private:
  struct HashMapping {
    size_t operator()(const CodeMapping& m) const noexcept {
      return mix(mix(hash_bytes(m.file), hash_bytes(m.build_id)), mix(m.start, m.offset));
    }
  };
  struct HashPlace {
    size_t operator()(const CodePlace& p) const noexcept { return mix(p.address, p.mapping.index); }
  };

  Interner<CodeMapping, CodeMappingId, HashMapping> mappings_;
  Interner<CodePlace, CodeId, HashPlace> places_;
  std::vector<bool> is_program_;  // by CodeMappingId::index
};

}  // namespace memflame
