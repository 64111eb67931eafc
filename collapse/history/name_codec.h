// SPDX-License-Identifier: BSD-2-Clause
// The names of a symbolized recording as chunks, and back. They are written once, at the end: with
// them a recording is read on machines that do not have the files of the traced one.
//
// Frames are a trie again, of locations: which function an address belongs to depends on the
// process and on the time, so the trie of addresses does not tell.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "collapse/history/table_codec.h"
#include "core/hash.h"

namespace memflame {

// None if the recording was not symbolized. `stacks`: those of the recording by their ids in the
// file; none for one of which ChunkKind::same_names tells.
std::vector<Chunk> name_chunks(const Recording& recording, std::span<const RawStackId> stacks,
                               TextWriter& texts);

class NameReader {
 public:
  NameReader(Recording& recording, TextTableReader& texts, MemoryBudget& budget)
      : recording_(recording), texts_(texts), budget_(budget) {}
  // Takes a chunk if it is one of names. Throws DamagedChunk.
  bool take(ChunkKind kind, ByteReader& in);
  // All was read: stacks of ended processes get the names of those that stand for them.
  void finish();
  // Whether all stacks have their names.
  bool is_complete() const {
    return stacks_ != 0 && stacks_ == recording_.stacks.size() && are_all_named_ &&
           recording_.frames.size() == recording_.stacks.size();
  }

 private:
  struct Node {
    uint32_t caller = 0, depth = 0;
    LocationId location;
  };
  struct IdsHash {
    size_t operator()(const std::vector<uint32_t>& ids) const noexcept {
      return hash_bytes({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(uint32_t)});
    }
  };
  void symbols(ByteReader& in);
  void locations(ByteReader& in);
  const SymbolList& symbol_list(ByteReader& in, size_t size);
  void nodes(ByteReader& in);
  void stacks(ByteReader& in);
  void same_names(ByteReader& in);

  Recording& recording_;
  TextTableReader& texts_;
  MemoryBudget& budget_;
  std::vector<Symbol> symbols_{Symbol{}};
  std::vector<uint32_t> ids_;  // of the list that is being read
  std::unordered_map<std::vector<uint32_t>, SymbolList, IdsHash> lists_;
  std::vector<Node> nodes_{Node{}};
  size_t stacks_ = 0;
  std::unordered_map<uint32_t, uint32_t> same_names_;  // a stack, and another one
  std::vector<uint32_t> nameless_;                     // stacks that have the names of others
  bool are_all_named_ = false;
};

}  // namespace memflame
