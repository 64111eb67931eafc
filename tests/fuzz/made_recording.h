// SPDX-License-Identifier: BSD-2-Clause
// Recordings of whatever a fuzzer makes. Checksums and numbers of chunks would stop every change,
// so they are made anew.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "collapse/chunks/chunks.h"
#include "collapse/history/look_codec.h"
#include "collapse/history/run_codec.h"
#include "collapse/history/table_codec.h"

namespace memflame {

// A recording with the kinds and contents of the chunks of another; of their heads only kind and
// size count.
inline std::string repaired(std::string_view bytes) {
  constexpr size_t size_at = 8;
  std::string file(recording_magic);
  bytes.remove_prefix(std::min(bytes.size(), recording_magic.size()));
  ChunkPacker packer;
  for (uint16_t number = 0; bytes.size() >= ChunkHead::size; ++number) {
    uint32_t kind = 0, size = 0;
    std::memcpy(&kind, bytes.data(), sizeof(kind));
    std::memcpy(&size, bytes.data() + size_at, sizeof(size));
    bytes.remove_prefix(ChunkHead::size);
    const size_t stored = std::min<size_t>(size, bytes.size());
    packer.pack(
        {.kind = static_cast<ChunkKind>(kind), .content = std::string(bytes.substr(0, stored))},
        number, file);
    bytes.remove_prefix(stored);
  }
  return file;
}

// A file with tables and a look, and its number of chunks.
struct RecordingBegin {
  std::string bytes{recording_magic};
  uint16_t chunks = 0;
  ChunkPacker packer;

  void add(const Chunk& chunk) { packer.pack(chunk, chunks++, bytes); }

  RecordingBegin() {
    History history;
    history.recording.types = {{"live", Unit::bytes}};
    for (uint32_t space = 1; space <= 2; ++space) {
      history.recording.spaces.emplace_back().pid = space;
      history.threads.push_back({.space = SpaceId{space}, .tid = space, .name = "thread"});
      for (uint64_t i = 0; i < 3; ++i) {
        RawStack& stack = history.recording.stacks.emplace_back();
        stack.space = SpaceId{space};
        stack.pcs = {{0x1000 + i, false}};
      }
    }
    add({.kind = ChunkKind::run,
         .content = encode(
             RunHead{.meta = {}, .types = history.recording.types, .gauges = {}, .boot = ""})});
    TableWriter tables;
    for (const Chunk& chunk : tables.changes(history)) add(chunk);
    Look look;
    look.time_ns = 1'000'000;
    add({.kind = ChunkKind::looks, .content = LookEncoder(1, 0).encode({&look, 1})});
  }
};

// A recording with events. The input is chunks without heads: a letter for the kind, two bytes for
// the size, the content. They come behind the tables that events refer to.
inline std::string with_events(std::string_view input) {
  RecordingBegin file;
  constexpr size_t head = 3;
  while (input.size() >= head) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(input[i]); };
    constexpr ChunkKind kinds[] = {ChunkKind::events,      ChunkKind::checkpoints,
                                   ChunkKind::live_blocks, ChunkKind::gaps,
                                   ChunkKind::threads,     ChunkKind::culled};
    const ChunkKind kind = kinds[byte(0) % std::size(kinds)];
    const size_t size = byte(1) + 256U * byte(2);
    const std::string_view content = input.substr(head, size);
    input.remove_prefix(head + content.size());
    file.add({.kind = kind, .content = std::string(content)});
  }
  return std::move(file.bytes);
}

}  // namespace memflame
