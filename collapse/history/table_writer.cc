// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <utility>

#include "collapse/history/table_codec.h"
#include "core/clock.h"

namespace memflame {
namespace {

constexpr size_t rows_of_a_group = 8192;
constexpr size_t most_nodes = size_t{1} << 18U;

uint64_t hash_of(const Module& module) {
  const uint64_t file = mix(mix(module.device, module.inode), static_cast<uint64_t>(module.kind));
  return mix(mix(hash_bytes(module.path), hash_bytes(module.build_id)), file);
}

uint64_t hash_of(const Space& space) {
  const uint64_t names = mix(hash_bytes(space.comm), hash_bytes(space.cgroup));
  return mix(mix(names, space.from_ns), (uint64_t{space.pid} << 32U) | space.forked_from.index);
}

uint64_t hash_of(const Thread& thread) {
  return mix(hash_bytes(thread.name), (uint64_t{thread.tid} << 32U) | thread.space.index);
}

uint64_t hash_of(const Mapping& mapping) {
  const uint64_t range = mix(mix(mapping.start, mapping.end), mapping.offset);
  return mix(mix(range, mapping.module.index), mix(mapping.from_ns, mapping.until_ns));
}

// Adds the rows in groups; `write` gets a group's rows.
template <class Row, class Write>
void in_groups(std::span<const Row> rows, ChunkKind kind, ChunkList& out, Write write) {
  while (!rows.empty()) {
    const auto group = rows.first(std::min(rows.size(), rows_of_a_group));
    rows = rows.subspan(group.size());
    ByteWriter bytes;
    bytes.number(group.size());
    write(group, bytes);
    out.add(kind, std::move(bytes));
  }
}

}  // namespace

void ChunkList::add(ChunkKind kind, ByteWriter group) {
  if (chunks_.empty() || chunks_.back().kind != kind ||
      chunks_.back().content.size() + group.size() > usual_chunk)
    chunks_.push_back({kind, {}});
  chunks_.back().content += group.take();
}

uint64_t TextWriter::id(std::string_view text) {
  constexpr size_t longest = size_t{256} << 10U;
  const uint32_t index = texts_.intern(text.substr(0, longest)).index;
  return index == 0 ? 0 : before_ + index;
}

void TextWriter::add_to(ChunkList& chunks) {
  constexpr size_t texts_of_a_group = 64;
  while (written_ < texts_.size()) {
    const size_t end = std::min(texts_.size(), written_ + texts_of_a_group);
    ByteWriter bytes;
    bytes.number(end - written_);
    for (; written_ < end; ++written_)
      bytes.text(texts_[StringId{static_cast<uint32_t>(written_)}]);
    chunks.add(ChunkKind::texts, std::move(bytes));
  }
}

std::vector<Chunk> TableWriter::changes(const History& history) {
  const Recording& recording = history.recording;
  ChunkList tables, texts;
  modules(recording.modules, tables);
  spaces(recording.spaces, tables);
  mappings(recording.spaces, tables);
  scripts(recording.scripts, tables);
  stacks(recording.stacks, tables);
  threads(history.threads, tables);
  tracks(history.tracks, tables);
  texts_.add_to(texts);
  std::vector<Chunk> chunks = texts.take();
  std::vector<Chunk> rest = tables.take();
  std::move(rest.begin(), rest.end(), std::back_inserter(chunks));
  return chunks;
}

void TableWriter::modules(std::span<const Module> all, ChunkList& out) {
  std::vector<uint32_t> changed;
  modules_.resize(std::max(modules_.size(), all.size()), 0);
  for (uint32_t i = 1; i < all.size(); ++i)
    if (const uint64_t hash = hash_of(all[i]); std::exchange(modules_[i], hash) != hash)
      changed.push_back(i);
  in_groups<uint32_t>(changed, ChunkKind::modules, out, [&](auto rows, ByteWriter& bytes) {
    for (const uint32_t i : rows) bytes.number(i);
    for (const uint32_t i : rows) bytes.number(texts_.id(all[i].path));
    for (const uint32_t i : rows) bytes.number(static_cast<uint64_t>(all[i].kind));
    for (const uint32_t i : rows) bytes.number(all[i].device);
    for (const uint32_t i : rows) bytes.number(all[i].inode);
    for (const uint32_t i : rows) bytes.number(texts_.id(all[i].build_id));
    // Files of this recording that have no build id are used for names only if they have not
    // changed since they were mapped.
    const int64_t now = real_time_ns();
    for (const uint32_t i : rows) bytes.signed_number(std::min(all[i].unchanged_since_ns, now));
  });
}

void TableWriter::spaces(const Paged<Space>& all, ChunkList& out) {
  std::vector<uint32_t> changed;
  const size_t written = spaces_.size();
  spaces_.resize(std::max(written, all.size()));
  for (uint32_t i = 1; i < all.size(); ++i)
    if (i < written && !all.is_used(i))
      spaces_.reset(i);  // it ended long ago; the file keeps what it was
    else if (const uint64_t hash = hash_of(all[i]); std::exchange(spaces_[i].hash, hash) != hash)
      changed.push_back(i);
  in_groups<uint32_t>(changed, ChunkKind::spaces, out, [&](auto rows, ByteWriter& bytes) {
    for (const uint32_t i : rows) bytes.number(i);
    for (const uint32_t i : rows) bytes.number(all[i].pid);
    for (const uint32_t i : rows) bytes.number(texts_.id(all[i].comm));
    for (const uint32_t i : rows) bytes.number(texts_.id(all[i].cgroup));
    for (const uint32_t i : rows) bytes.number(all[i].forked_from.index);
    for (const uint32_t i : rows) bytes.number(all[i].from_ns);
  });
}

void TableWriter::mappings(const Paged<Space>& all, ChunkList& out) {
  struct Changed {
    uint32_t space = 0, place = 0;
  };
  std::vector<Changed> changed;
  for (uint32_t s = 1; s < all.size(); ++s) {
    if (!all.is_used(s)) continue;
    const std::vector<Mapping>& mappings = all[s].mappings;
    std::vector<uint64_t>& seen = spaces_[s].mappings;
    seen.resize(std::max(seen.size(), mappings.size()), 0);
    for (uint32_t i = 0; i < mappings.size(); ++i)
      if (const uint64_t hash = hash_of(mappings[i]); std::exchange(seen[i], hash) != hash)
        changed.push_back({s, i});
  }
  in_groups<Changed>(changed, ChunkKind::mappings, out, [&](auto rows, ByteWriter& bytes) {
    const auto column = [&](auto write) {
      for (const Changed& row : rows) write(all[row.space].mappings[row.place]);
    };
    for (const Changed& row : rows) bytes.number(row.space);
    for (const Changed& row : rows) bytes.number(row.place);
    uint64_t before = 0;
    column([&](const Mapping& mapping) {
      bytes.step(std::exchange(before, mapping.start), mapping.start);
    });
    column([&](const Mapping& mapping) { bytes.step(mapping.start, mapping.end); });
    column([&](const Mapping& mapping) { bytes.number(mapping.offset); });
    column([&](const Mapping& mapping) { bytes.number(mapping.module.index); });
    before = 0;
    column([&](const Mapping& mapping) {
      bytes.step(std::exchange(before, mapping.from_ns), mapping.from_ns);
    });
    // UINT64_MAX, which most have, takes one byte.
    column([&](const Mapping& mapping) { bytes.number(mapping.until_ns + 1); });
  });
}

void TableWriter::scripts(std::span<const ScriptCode> all, ChunkList& out) {
  if (all.size() <= scripts_written_) return;
  in_groups<ScriptCode>(all.subspan(scripts_written_), ChunkKind::scripts, out,
                        [&](auto rows, ByteWriter& bytes) {
                          for (const ScriptCode& code : rows) {
                            bytes.number(static_cast<uint64_t>(code.language));
                            bytes.number(texts_.id(code.function));
                            bytes.number(texts_.id(code.file));
                            bytes.number(code.first_line);
                            bytes.text(code.lines);
                          }
                        });
  scripts_written_ = all.size();
}

void TableWriter::stacks(std::span<const RawStack> all, ChunkList& out) {
  const std::vector<uint32_t> added = stacks_.take_new(all.size(), [&](uint32_t place) {
    const RawStack& stack = all[place];
    return stack.space || !stack.pcs.empty() || !stack.note.empty();
  });
  std::vector<uint32_t> leaves;
  leaves.reserve(added.size());
  for (const uint32_t place : added) {
    const RawStack& stack = all[place];
    AddressNodeId node;
    for (size_t i = stack.pcs.size(); i-- > 0;) node = nodes_.intern({node, stack.pcs[i]});
    leaves.push_back(node_in_file(node));
  }
  nodes(out);
  in_groups<uint32_t>(added, ChunkKind::stacks, out, [&](auto rows, ByteWriter& bytes) {
    const auto first = static_cast<size_t>(rows.data() - added.data());
    for (const uint32_t i : rows) bytes.number(all[i].space.index);
    for (const uint32_t i : rows)
      bytes.step(std::exchange(time_ns_, all[i].time_ns), all[i].time_ns);
    uint64_t before = 0;
    for (size_t i = first; i < first + rows.size(); ++i)
      bytes.step(std::exchange(before, leaves[i]), leaves[i]);
    for (const uint32_t i : rows) bytes.number(all[i].kernel_pcs);
    for (const uint32_t i : rows) bytes.number(static_cast<uint64_t>(all[i].stop));
    for (const uint32_t i : rows) bytes.number(texts_.id(all[i].note));
    for (const uint32_t i : rows) bytes.number(texts_.id(all[i].leaf));
  });
}

void TableWriter::nodes(ChunkList& out) {
  std::vector<uint32_t> added;
  for (; nodes_written_ < nodes_.size(); ++nodes_written_)
    added.push_back(static_cast<uint32_t>(nodes_written_));
  in_groups<uint32_t>(added, ChunkKind::nodes, out, [&](auto rows, ByteWriter& bytes) {
    const auto node = [&](uint32_t i) { return nodes_[AddressNodeId{i}]; };
    for (const uint32_t i : rows) {
      const uint64_t up = node_in_file(AddressNodeId{i}) - node_in_file(node(i).caller);
      bytes.number(up << 1U | (node(i).pc.is_return ? 1U : 0U));
    }
    for (const uint32_t i : rows)
      bytes.step(std::exchange(address_, node(i).pc.addr), node(i).pc.addr);
  });
}

std::vector<Chunk> TableWriter::leave(const Leaving& leaving) {
  std::vector<std::pair<uint32_t, uint32_t>> moved;
  for (const auto& [from, into] : leaving.stacks)
    if (stacks_[from] && stacks_[into])
      moved.emplace_back(stacks_[from].index, stacks_[into].index);
  std::ranges::sort(moved);
  for (const Leaving::Stack& stack : leaving.stacks) stacks_.leave(stack.from);
  for (const TrackId track : leaving.tracks) tracks_.leave(track);
  // Programs that are executed have addresses of their own.
  if (nodes_.size() > most_nodes) {
    nodes_before_ += static_cast<uint32_t>(nodes_.size() - 1);
    nodes_ = {};
    nodes_written_ = 1;
  }
  ChunkList out;
  in_groups<std::pair<uint32_t, uint32_t>>(
      moved, ChunkKind::same_names, out, [&](auto rows, ByteWriter& bytes) {
        uint64_t before = 0;
        for (const auto& [from, into] : rows)
          bytes.number(from - std::exchange(before, uint64_t{from}));
        for (const auto& [from, into] : rows) bytes.number(into);
      });
  return out.take();
}

void TableWriter::threads(std::span<const Thread> all, ChunkList& out) {
  std::vector<uint32_t> changed;
  threads_.resize(std::max(threads_.size(), all.size()), 0);
  for (uint32_t i = 1; i < all.size(); ++i)
    if (const uint64_t hash = hash_of(all[i]); std::exchange(threads_[i], hash) != hash)
      changed.push_back(i);
  in_groups<uint32_t>(changed, ChunkKind::threads, out, [&](auto rows, ByteWriter& bytes) {
    for (const uint32_t i : rows) bytes.number(i);
    for (const uint32_t i : rows) bytes.number(all[i].space.index);
    for (const uint32_t i : rows) bytes.number(all[i].tid);
    for (const uint32_t i : rows) bytes.number(texts_.id(all[i].name));
  });
}

void TableWriter::tracks(std::span<const Track> all, ChunkList& out) {
  const std::vector<uint32_t> added =
      tracks_.take_new(all.size(), [&](uint32_t place) { return bool{all[place].stack}; });
  in_groups<uint32_t>(added, ChunkKind::tracks, out, [&](auto rows, ByteWriter& bytes) {
    uint64_t before = 0;
    for (const uint32_t i : rows) {
      const uint64_t stack = stacks_[all[i].stack].index;
      bytes.step(std::exchange(before, stack), stack);
    }
    for (const uint32_t i : rows) bytes.number(all[i].space.index);
    for (const uint32_t i : rows) bytes.number(texts_.id(all[i].group));
  });
}

}  // namespace memflame
