// SPDX-License-Identifier: BSD-2-Clause
// Who owns which part of an address space. Exact through partial unmapping, overlays, moves and
// protection changes; addresses and lengths are multiples of the page size.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

namespace memflame {

enum class MapKind : uint8_t {
  anon,
  file,
  shared,
  none
};  // none = PROT_NONE: reserved, not usable

class Intervals {
 public:
  static constexpr uint64_t before_start = 0;  // owner of what was mapped before we watched

  struct Part {
    uint64_t end = 0;
    uint64_t owner = before_start;  // stack hash
    MapKind kind = MapKind::anon;
    MapKind accessible = MapKind::anon;  // what it is when it is not PROT_NONE
    friend bool operator==(const Part&, const Part&) = default;
  };

  // Maps [start, end), replacing whatever was there.
  void map(uint64_t start, uint64_t end, uint64_t owner, MapKind kind, MapKind accessible);
  void unmap(uint64_t start, uint64_t end);
  // mremap: what was at [from, from+old_size) is now at `to`; growth belongs to `owner`. With
  // `keep` (MREMAP_DONTUNMAP) the old range stays mapped.
  void remap(uint64_t from, uint64_t old_size, uint64_t to, uint64_t new_size, uint64_t owner,
             bool keep);
  // mprotect. Making reserved memory accessible hands it to whoever does it: that is the call that
  // wants the memory. Other changes leave the owner.
  void protect(uint64_t start, uint64_t end, bool accessible, uint64_t owner);

  // Kind of the memory at an address; anon where nothing is mapped.
  MapKind kind_at(uint64_t address) const;

  // A copy for a forked child, in which everything was mapped before the start.
  Intervals inherited() const;

  void for_each(const std::function<void(uint64_t start, uint64_t end, const Part&)>& visit) const;
  // Mapped bytes from before the start that have been unmapped or replaced since.
  uint64_t released_older() const { return released_older_; }

 private:
  // Makes `address` a boundary between parts.
  void split(uint64_t address);

  std::map<uint64_t, Part> parts_;  // by start; they do not overlap
  uint64_t released_older_ = 0;
};

}  // namespace memflame
