// SPDX-License-Identifier: BSD-2-Clause
// The tables of a recording as chunks, and back: texts, modules, processes, mappings, functions of
// interpreted languages, stacks, threads, tracks.
//
// Each text is stored once. Stacks are a trie: a node is an address and the node of its caller, so
// callers that many stacks share are stored once, too. A chunk is a sequence of groups of rows, a
// group a sequence of columns, and rows are told against those before them in the table, not in
// the chunk: chunks of one kind can be joined by joining their bytes, which keeps a long recording
// small. Tables grow at their end; rows of modules, processes, mappings and threads may also
// replace earlier ones.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/chunks/chunks.h"
#include "collapse/history/growing_ids.h"
#include "core/history.h"
#include "core/interner.h"
#include "core/paged.h"

namespace memflame {

using AddressNodeId = Id<struct AddressNodeTag>;

struct AddressNode {
  AddressNodeId caller;
  Pc pc;
  friend bool operator==(const AddressNode&, const AddressNode&) = default;
};

struct AddressNodeHash {
  size_t operator()(const AddressNode& node) const noexcept {
    const uint64_t caller = (uint64_t{node.caller.index} << 1U) | (node.pc.is_return ? 1U : 0U);
    return mix(mix(node.pc.addr, 0), caller);
  }
};

// Chunks that are being made. A chunk that has grown large is closed, and another one begun.
class ChunkList {
 public:
  void add(ChunkKind kind, ByteWriter group);
  bool empty() const { return chunks_.empty(); }
  std::vector<Chunk> take() { return std::move(chunks_); }

 private:
  std::vector<Chunk> chunks_;
};

class TextWriter {
 public:
  // `before`: texts that the table has already, without the empty one.
  explicit TextWriter(uint64_t before = 0) : before_(before) {}
  // Very long texts are cut.
  uint64_t id(std::string_view text);
  // Adds the texts that are new.
  void add_to(ChunkList& chunks);

 private:
  uint64_t before_;
  StringTable texts_;
  size_t written_ = 1;
};

class TableWriter {
 public:
  // Adds what is new or has changed since the last call. Time grows with what is new, and with the
  // number of modules and mappings, which are compared with what was written.
  std::vector<Chunk> changes(const History& history);

  // Others may have the places of what leaves from now on. All of that was written; now it is told
  // which stacks have the same names.
  std::vector<Chunk> leave(const Leaving& leaving);

  TextWriter& texts() { return texts_; }
  const GrowingIds<RawStackId>& stacks() const { return stacks_; }
  const GrowingIds<TrackId>& tracks() const { return tracks_; }

 private:
  struct SpaceSeen {
    uint64_t hash = 0;
    std::vector<uint64_t> mappings;
  };
  void modules(std::span<const Module> all, ChunkList& out);
  void spaces(const Paged<Space>& all, ChunkList& out);
  void mappings(const Paged<Space>& all, ChunkList& out);
  void scripts(std::span<const ScriptCode> all, ChunkList& out);
  void stacks(std::span<const RawStack> all, ChunkList& out);
  void nodes(ChunkList& out);
  uint32_t node_in_file(AddressNodeId id) const { return id ? nodes_before_ + id.index : 0; }
  void threads(std::span<const Thread> all, ChunkList& out);
  void tracks(std::span<const Track> all, ChunkList& out);

  TextWriter texts_;
  std::vector<uint64_t> modules_{0};
  Paged<SpaceSeen> spaces_{SpaceSeen{}};
  std::vector<uint64_t> threads_{0};
  Interner<AddressNode, AddressNodeId, AddressNodeHash> nodes_;
  uint32_t nodes_before_ = 0;  // in the file, of those that are not known here any more
  GrowingIds<RawStackId> stacks_;
  GrowingIds<TrackId> tracks_;
  size_t scripts_written_ = 1, nodes_written_ = 1;
  uint64_t address_ = 0, time_ns_ = 0;  // of the last node, of the last stack
};

class TextTableReader {
 public:
  explicit TextTableReader(MemoryBudget& budget) : budget_(budget) {}
  void take(ByteReader& in);
  const std::string& at(uint64_t id) const;
  size_t size() const { return texts_.size() - 1; }  // without the empty one
  // The text of the next number.
  const std::string& text(ByteReader& in) const { return at(in.number()); }

 private:
  MemoryBudget& budget_;
  std::vector<std::string> texts_{std::string()};
};

class TableReader {
 public:
  TableReader(History& history, TextTableReader& texts, MemoryBudget& budget)
      : recording_(history.recording),
        threads_(history.threads),
        tracks_(history.tracks),
        texts_(texts),
        budget_(budget) {}
  // Takes a chunk if it is one of a table. Throws DamagedChunk.
  bool take(ChunkKind kind, ByteReader& in);

 private:
  void modules(ByteReader& in);
  void spaces(ByteReader& in);
  void mappings(ByteReader& in);
  void scripts(ByteReader& in);
  void nodes(ByteReader& in);
  void stacks(ByteReader& in);
  void threads(ByteReader& in);
  void tracks(ByteReader& in);

  Recording& recording_;
  std::vector<Thread>& threads_;
  std::vector<Track>& tracks_;
  TextTableReader& texts_;
  MemoryBudget& budget_;
  std::vector<AddressNode> nodes_{AddressNode{}};
  std::vector<uint32_t> depths_{0};  // of the nodes
  uint64_t address_ = 0, time_ns_ = 0;
};

}  // namespace memflame
