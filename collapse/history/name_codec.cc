// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/name_codec.h"

#include <algorithm>
#include <utility>

namespace memflame {
namespace {

constexpr size_t names_of_a_group = 8192;

struct SymbolRow {
  uint64_t function = 0, file = 0, module = 0;
  uint32_t line = 0, start_line = 0;
  FrameKind kind = FrameKind::user;
  friend bool operator==(const SymbolRow&, const SymbolRow&) = default;
};
struct SymbolRowHash {
  size_t operator()(const SymbolRow& row) const noexcept {
    const uint64_t lines = (uint64_t{row.line} << 32U) | row.start_line;
    return mix(mix(mix((row.function << 32U) | row.file, 0), row.module),
               mix(lines, static_cast<uint64_t>(row.kind)));
  }
};
using SymbolRowId = Id<struct SymbolRowTag>;

struct NamedNode {
  uint32_t caller = 0;
  LocationId location;
  friend bool operator==(const NamedNode&, const NamedNode&) = default;
};
struct NamedNodeHash {
  size_t operator()(const NamedNode& node) const noexcept {
    // Both grow together: mixed as two words, many pairs would have one hash.
    return mix((uint64_t{node.caller} << 32U) | node.location.index, 0);
  }
};
using NamedNodeId = Id<struct NamedNodeTag>;

// Adds rows [first, end) in groups.
template <class Write>
void name_groups(size_t first, size_t end, ChunkKind kind, ChunkList& out, Write write) {
  for (; first < end; first += names_of_a_group) {
    const size_t last = std::min(end, first + names_of_a_group);
    ByteWriter bytes;
    bytes.number(last - first);
    write(first, last, bytes);
    out.add(kind, std::move(bytes));
  }
}

}  // namespace

std::vector<Chunk> name_chunks(const Recording& recording, std::span<const RawStackId> stacks,
                               TextWriter& texts) {
  if (recording.frames.size() != recording.stacks.size()) return {};
  Interner<SymbolRow, SymbolRowId, SymbolRowHash> symbols;
  std::vector<std::vector<uint32_t>> symbols_of(recording.locations.size());
  for (size_t i = 1; i < recording.locations.size(); ++i)
    for (const Symbol& symbol : recording.locations[i].symbols)
      symbols_of[i].push_back(symbols
                                  .intern({.function = texts.id(symbol.function),
                                           .file = texts.id(symbol.file),
                                           .module = texts.id(symbol.module),
                                           .line = symbol.line,
                                           .start_line = symbol.start_line,
                                           .kind = symbol.kind})
                                  .index);
  ChunkList names;
  const auto symbol = [&](size_t i) { return symbols[SymbolRowId{static_cast<uint32_t>(i)}]; };
  name_groups(1, symbols.size(), ChunkKind::symbols, names,
              [&](size_t first, size_t last, ByteWriter& bytes) {
                uint64_t before = 0;
                for (size_t i = first; i < last; ++i)
                  bytes.step(std::exchange(before, symbol(i).function), symbol(i).function);
                for (size_t i = first; i < last; ++i) bytes.number(symbol(i).file);
                for (size_t i = first; i < last; ++i) bytes.number(symbol(i).module);
                for (size_t i = first; i < last; ++i) bytes.number(symbol(i).line);
                for (size_t i = first; i < last; ++i) bytes.number(symbol(i).start_line);
                for (size_t i = first; i < last; ++i)
                  bytes.number(static_cast<uint64_t>(symbol(i).kind));
              });
  const std::vector<Location>& all = recording.locations;
  name_groups(1, all.size(), ChunkKind::locations, names,
              [&](size_t first, size_t last, ByteWriter& bytes) {
                for (size_t i = first; i < last; ++i) bytes.number(all[i].space.index);
                uint64_t before = 0;
                for (size_t i = first; i < last; ++i)
                  bytes.step(std::exchange(before, all[i].pc.addr), all[i].pc.addr);
                for (size_t i = first; i < last; ++i)
                  bytes.number((all[i].pc.is_return ? 1U : 0U) | (all[i].is_code ? 2U : 0U));
                for (size_t i = first; i < last; ++i) bytes.number(symbols_of[i].size());
                for (size_t i = first; i < last; ++i)
                  for (const uint32_t id : symbols_of[i]) bytes.number(id);
              });
  Interner<NamedNode, NamedNodeId, NamedNodeHash> nodes;
  std::vector<uint32_t> leaves;
  leaves.reserve(stacks.size());
  for (const RawStackId stack : stacks) {
    const std::vector<LocationId>& frames = recording.frames[stack.index];
    uint32_t node = 0;
    for (size_t i = frames.size(); i-- > 0;)
      node = nodes.intern({.caller = node, .location = frames[i]}).index;
    leaves.push_back(node);
  }
  const auto node = [&](size_t i) { return nodes[NamedNodeId{static_cast<uint32_t>(i)}]; };
  name_groups(1, nodes.size(), ChunkKind::named_nodes, names,
              [&](size_t first, size_t last, ByteWriter& bytes) {
                for (size_t i = first; i < last; ++i) bytes.number(i - node(i).caller);
                for (size_t i = first; i < last; ++i) bytes.number(node(i).location.index);
              });
  name_groups(1, leaves.size(), ChunkKind::named_stacks, names,
              [&](size_t first, size_t last, ByteWriter& bytes) {
                uint64_t before = 0;
                for (size_t i = first; i < last; ++i)
                  bytes.step(std::exchange(before, leaves[i]), uint64_t{leaves[i]});
              });
  ChunkList added;
  texts.add_to(added);
  std::vector<Chunk> chunks = added.take(), rest = names.take();
  std::move(rest.begin(), rest.end(), std::back_inserter(chunks));
  return chunks;
}

bool NameReader::take(ChunkKind kind, ByteReader& in) {
  const auto groups = [&](void (NameReader::*read)(ByteReader&)) {
    while (!in.at_end()) (this->*read)(in);
    return true;
  };
  switch (kind) {
    case ChunkKind::symbols:
      return groups(&NameReader::symbols);
    case ChunkKind::locations:
      return groups(&NameReader::locations);
    case ChunkKind::named_nodes:
      return groups(&NameReader::nodes);
    case ChunkKind::named_stacks:
      return groups(&NameReader::stacks);
    case ChunkKind::same_names:
      return groups(&NameReader::same_names);
    default:
      return false;
  }
}

void NameReader::symbols(ByteReader& in) {
  const size_t count = in.count();
  budget_.take(2 * count * sizeof(Symbol));
  std::vector<Symbol> rows(count);
  uint64_t function = 0;
  for (Symbol& symbol : rows) {
    function = in.step(function);
    symbol.function = texts_.at(function);
  }
  for (Symbol& symbol : rows) symbol.file = texts_.text(in);
  for (Symbol& symbol : rows) symbol.module = texts_.text(in);
  for (Symbol& symbol : rows) symbol.line = in.small("a line");
  for (Symbol& symbol : rows) symbol.start_line = in.small("a line");
  for (Symbol& symbol : rows) {
    const auto last = static_cast<uint64_t>(FrameKind::note);
    symbol.kind = static_cast<FrameKind>(in.number_below(last + 1, "a kind of frame"));
  }
  next_index(symbols_.size() + count);
  std::move(rows.begin(), rows.end(), std::back_inserter(symbols_));
}

void NameReader::locations(ByteReader& in) {
  const size_t count = in.count();
  budget_.take(2 * count * sizeof(Location));
  std::vector<Location> rows(count);
  for (Location& location : rows)
    location.space =
        SpaceId{static_cast<uint32_t>(in.number_below(recording_.spaces.size(), "a process"))};
  uint64_t address = 0;
  for (Location& location : rows) location.pc.addr = address = in.step(address);
  for (Location& location : rows) {
    const uint64_t flags = in.number_below(4, "a flag");
    location.pc.is_return = (flags & 1U) != 0;
    location.is_code = (flags & 2U) != 0;
  }
  std::vector<size_t> symbols(count);
  for (size_t& number : symbols) {
    number = in.count();
    if (number == 0) throw DamagedChunk("it has a place without a name");
    budget_.take(number * sizeof(Symbol));
  }
  for (size_t i = 0; i < count; ++i) rows[i].symbols = symbol_list(in, symbols[i]);
  next_index(recording_.locations.size() + count);
  std::move(rows.begin(), rows.end(), std::back_inserter(recording_.locations));
}

// Addresses of one line have the same symbols: a list of them is made once.
const SymbolList& NameReader::symbol_list(ByteReader& in, size_t size) {
  ids_.resize(size);
  for (uint32_t& id : ids_) {
    id = static_cast<uint32_t>(in.number_below(symbols_.size(), "a name"));
    const Symbol& symbol = symbols_[id];
    budget_.take(symbol.function.size() + symbol.file.size() + symbol.module.size());
  }
  SymbolList& list = lists_[ids_];
  if (list.empty()) {
    std::vector<Symbol> symbols;
    for (const uint32_t id : ids_) symbols.push_back(symbols_[id]);
    list = std::move(symbols);
  }
  return list;
}

void NameReader::nodes(ByteReader& in) {
  const size_t count = in.count(), first = nodes_.size();
  budget_.take(2 * count * sizeof(Node));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t id = next_index(nodes_.size());
    const uint64_t up = in.number();
    if (up == 0 || up > id) throw DamagedChunk("it has a caller that cannot be");
    const auto caller = static_cast<uint32_t>(id - up);
    nodes_.push_back({.caller = caller, .depth = nodes_[caller].depth + 1, .location = {}});
  }
  for (size_t i = first; i < nodes_.size(); ++i)
    nodes_[i].location =
        LocationId{static_cast<uint32_t>(in.number_below(recording_.locations.size(), "a place"))};
}

void NameReader::stacks(ByteReader& in) {
  if (stacks_ == 0) recording_.frames.assign(++stacks_, {});
  const size_t count = in.count();
  budget_.take(count * sizeof(std::vector<LocationId>));
  uint64_t node = 0;
  for (size_t i = 0; i < count; ++i, ++stacks_) {
    node = in.step(node);
    // The memory of the frames was counted when the stack was read.
    if (node == 0 && stacks_ < recording_.stacks.size() &&
        same_names_.contains(static_cast<uint32_t>(stacks_))) {
      nameless_.push_back(static_cast<uint32_t>(stacks_));
      recording_.frames.emplace_back();
      continue;
    }
    if (node >= nodes_.size() || stacks_ >= recording_.stacks.size() ||
        nodes_[node].depth != recording_.stacks[stacks_].pcs.size())
      throw DamagedChunk("it names a stack that cannot be");
    std::vector<LocationId>& frames = recording_.frames.emplace_back();
    frames.reserve(nodes_[node].depth);
    for (auto at = static_cast<uint32_t>(node); at != 0; at = nodes_[at].caller)
      frames.push_back(nodes_[at].location);
  }
}

void NameReader::same_names(ByteReader& in) {
  std::vector<uint64_t> stacks(in.count());
  budget_.take(4 * stacks.size() * sizeof(uint64_t));
  uint64_t before = 0;
  for (uint64_t& stack : stacks)
    stack = before += in.number_below(recording_.stacks.size(), "a stack");
  for (const uint64_t stack : stacks) {
    const uint64_t other = in.number_below(recording_.stacks.size(), "a stack");
    if (stack >= recording_.stacks.size() ||
        recording_.stacks[stack].pcs.size() != recording_.stacks[other].pcs.size())
      throw DamagedChunk("it has stacks of the same names that cannot have them");
    same_names_.emplace(static_cast<uint32_t>(stack), static_cast<uint32_t>(other));
  }
}

void NameReader::finish() {
  are_all_named_ = true;
  for (const uint32_t stack : nameless_) {
    const uint32_t other = same_names_.at(stack);
    const size_t depth = recording_.stacks[stack].pcs.size();
    if (other < recording_.frames.size() && recording_.frames[other].size() == depth)
      recording_.frames[stack] = recording_.frames[other];
    else
      are_all_named_ = false;  // the other has none itself
  }
}

}  // namespace memflame
