// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>

#include "collapse/history/table_codec.h"

namespace memflame {
namespace {

// A row of a table that grows at its end, or replaces an earlier row.
template <class Table>
auto& row_at(Table& table, uint64_t index, uint64_t first, MemoryBudget& budget) {
  if (index < first || index > table.size()) throw DamagedChunk("it has a row that cannot be");
  if (index < table.size()) return table[index];
  next_index(table.size());
  budget.take(2 * sizeof(table[0]));
  return table.emplace_back();
}

uint32_t index_in(ByteReader& in, size_t size, const char* what) {
  return static_cast<uint32_t>(in.number_below(size, what));
}

}  // namespace

void TextTableReader::take(ByteReader& in) {
  while (!in.at_end())
    for (size_t i = in.count(); i-- > 0;) {
      const std::string_view text = in.text();
      budget_.take(2 * sizeof(std::string) + text.size());
      texts_.emplace_back(text);
    }
}

const std::string& TextTableReader::at(uint64_t id) const {
  if (id >= texts_.size()) throw DamagedChunk("it has a text that cannot be");
  budget_.take(texts_[id].size());
  return texts_[id];
}

bool TableReader::take(ChunkKind kind, ByteReader& in) {
  const auto groups = [&](void (TableReader::*read)(ByteReader&)) {
    while (!in.at_end()) (this->*read)(in);
    return true;
  };
  switch (kind) {
    case ChunkKind::texts:
      texts_.take(in);
      return true;
    case ChunkKind::modules:
      return groups(&TableReader::modules);
    case ChunkKind::spaces:
      return groups(&TableReader::spaces);
    case ChunkKind::mappings:
      return groups(&TableReader::mappings);
    case ChunkKind::scripts:
      return groups(&TableReader::scripts);
    case ChunkKind::nodes:
      return groups(&TableReader::nodes);
    case ChunkKind::stacks:
      return groups(&TableReader::stacks);
    case ChunkKind::threads:
      return groups(&TableReader::threads);
    case ChunkKind::tracks:
      return groups(&TableReader::tracks);
    default:
      return false;
  }
}

void TableReader::modules(ByteReader& in) {
  std::vector<uint64_t> ids(in.count());
  for (uint64_t& id : ids) {
    id = in.number();
    row_at(recording_.modules, id, 1, budget_);
  }
  const auto each = [&](auto read) {
    for (const uint64_t id : ids) read(recording_.modules[id]);
  };
  each([&](Module& module) { module.path = texts_.text(in); });
  each([&](Module& module) {
    const auto last = static_cast<uint64_t>(ModuleKind::anonymous);
    module.kind = static_cast<ModuleKind>(in.number_below(last + 1, "a kind of file"));
  });
  each([&](Module& module) { module.device = in.number(); });
  each([&](Module& module) { module.inode = in.number(); });
  each([&](Module& module) { module.build_id = texts_.text(in); });
  each([&](Module& module) { module.unchanged_since_ns = in.signed_number(); });
}

void TableReader::spaces(ByteReader& in) {
  std::vector<uint64_t> ids(in.count());
  for (uint64_t& id : ids) {
    id = in.number();
    row_at(recording_.spaces, id, 1, budget_);
  }
  const auto each = [&](auto read) {
    for (const uint64_t id : ids) read(recording_.spaces[id]);
  };
  each([&](Space& space) { space.pid = in.small("a process"); });
  each([&](Space& space) { space.comm = texts_.text(in); });
  each([&](Space& space) { space.cgroup = texts_.text(in); });
  each([&](Space& space) {
    space.forked_from = SpaceId{index_in(in, recording_.spaces.size(), "a process")};
  });
  each([&](Space& space) { space.from_ns = in.number(); });
}

void TableReader::mappings(ByteReader& in) {
  struct Place {
    uint64_t space = 0, mapping = 0;
  };
  std::vector<Place> places(in.count());
  for (Place& place : places) {
    place.space = in.number_below(recording_.spaces.size(), "a process");
    if (place.space == 0) throw DamagedChunk("it has a process that cannot be");
  }
  for (Place& place : places) {
    place.mapping = in.number();
    row_at(recording_.spaces[place.space].mappings, place.mapping, 0, budget_);
  }
  const auto each = [&](auto read) {
    for (const Place& place : places) read(recording_.spaces[place.space].mappings[place.mapping]);
  };
  uint64_t before = 0;
  each([&](Mapping& mapping) { mapping.start = before = in.step(before); });
  each([&](Mapping& mapping) { mapping.end = in.step(mapping.start); });
  each([&](Mapping& mapping) { mapping.offset = in.number(); });
  each([&](Mapping& mapping) {
    mapping.module = ModuleId{index_in(in, recording_.modules.size(), "a file")};
  });
  before = 0;
  each([&](Mapping& mapping) { mapping.from_ns = before = in.step(before); });
  each([&](Mapping& mapping) { mapping.until_ns = in.number() - 1; });
}

void TableReader::scripts(ByteReader& in) {
  for (size_t i = in.count(); i-- > 0;) {
    ScriptCode code;
    code.language =
        static_cast<Language>(in.number_below(1 + known_languages.size(), "a language"));
    code.function = texts_.text(in);
    code.file = texts_.text(in);
    code.first_line = in.small("a line");
    code.lines = in.text();
    budget_.take(2 * sizeof(ScriptCode) + code.lines.size());
    next_index(recording_.scripts.size());
    recording_.scripts.push_back(std::move(code));
  }
}

void TableReader::nodes(ByteReader& in) {
  const size_t count = in.count(), first = nodes_.size();
  budget_.take(2 * count * (sizeof(AddressNode) + sizeof(uint32_t)));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t id = next_index(nodes_.size());
    const uint64_t up = in.number();
    if (up >> 1U == 0 || up >> 1U > id) throw DamagedChunk("it has a caller that cannot be");
    const AddressNodeId caller{id - static_cast<uint32_t>(up >> 1U)};
    nodes_.push_back({caller, {.addr = 0, .is_return = (up & 1U) != 0}});
    depths_.push_back(depths_[caller.index] + 1);
  }
  for (size_t i = first; i < nodes_.size(); ++i) nodes_[i].pc.addr = address_ = in.step(address_);
}

void TableReader::stacks(ByteReader& in) {
  const size_t count = in.count();
  budget_.take(2 * count * sizeof(RawStack));
  std::vector<RawStack> rows(count);
  for (RawStack& stack : rows)
    stack.space = SpaceId{index_in(in, recording_.spaces.size(), "a process")};
  for (RawStack& stack : rows) stack.time_ns = time_ns_ = in.step(time_ns_);
  uint64_t node = 0;
  for (RawStack& stack : rows) {
    node = in.step(node);
    if (node >= nodes_.size()) throw DamagedChunk("it has a frame that cannot be");
    const uint32_t depth = depths_[node];
    budget_.take(uint64_t{depth} * (sizeof(Pc) + sizeof(LocationId)));
    stack.pcs.reserve(depth);
    for (auto at = static_cast<uint32_t>(node); at != 0; at = nodes_[at].caller.index)
      stack.pcs.push_back(nodes_[at].pc);
  }
  for (RawStack& stack : rows)
    stack.kernel_pcs = index_in(in, stack.pcs.size() + 1, "a number of frames");
  for (RawStack& stack : rows) {
    constexpr std::array reasons{
        StopReason::complete,
#define MEMFLAME_STOP(name, label, remedy) StopReason::name,
#include "core/stops.def"
#undef MEMFLAME_STOP
    };
    stack.stop = reasons.at(in.number_below(reasons.size(), "a reason to stop"));
  }
  for (RawStack& stack : rows) stack.note = texts_.text(in);
  for (RawStack& stack : rows) stack.leaf = texts_.text(in);
  next_index(recording_.stacks.size() + count);
  std::move(rows.begin(), rows.end(), std::back_inserter(recording_.stacks));
}

void TableReader::threads(ByteReader& in) {
  std::vector<uint64_t> ids(in.count());
  for (uint64_t& id : ids) {
    id = in.number();
    row_at(threads_, id, 1, budget_);
  }
  const auto each = [&](auto read) {
    for (const uint64_t id : ids) read(threads_[id]);
  };
  each([&](Thread& thread) {
    thread.space = SpaceId{index_in(in, recording_.spaces.size(), "a process")};
  });
  each([&](Thread& thread) { thread.tid = in.small("a thread"); });
  each([&](Thread& thread) { thread.name = texts_.text(in); });
}

void TableReader::tracks(ByteReader& in) {
  const size_t count = in.count();
  budget_.take(2 * count * sizeof(Track));
  std::vector<Track> rows(count);
  uint64_t stack = 0;
  for (Track& track : rows) {
    stack = in.step(stack);
    if (stack >= recording_.stacks.size()) throw DamagedChunk("it has a stack that cannot be");
    track.stack = RawStackId{static_cast<uint32_t>(stack)};
  }
  for (Track& track : rows)
    track.space = SpaceId{index_in(in, recording_.spaces.size(), "a process")};
  for (Track& track : rows) track.group = texts_.text(in);
  next_index(tracks_.size() + count);
  std::move(rows.begin(), rows.end(), std::back_inserter(tracks_));
}

}  // namespace memflame
