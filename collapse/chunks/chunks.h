// SPDX-License-Identifier: BSD-2-Clause
// The chunks that a recording consists of: a head of 24 bytes, then the content, packed with zstd
// or as it is. docs/recording.md describes each kind.
//
// A chunk is written at once and never changed, so a file that ends anywhere reads up to its last
// whole chunk. The head has a checksum of its own: its sizes are trusted only if that fits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "collapse/chunks/bytes.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace memflame {

// Like PNG's: a transfer that changes line ends or the eighth bit damages it.
inline constexpr std::string_view recording_magic{"\x89MFR\r\n\x1a\n", 8};

constexpr uint32_t chunk_letters(std::string_view letters) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i)
    value |= static_cast<uint32_t>(static_cast<unsigned char>(letters[i])) << (8 * i);
  return value;
}

enum class ChunkKind : uint32_t {
  run = chunk_letters("RUN "),
  texts = chunk_letters("TEXT"),
  modules = chunk_letters("MODU"),
  spaces = chunk_letters("SPAC"),
  mappings = chunk_letters("MAPP"),
  scripts = chunk_letters("SCRI"),
  nodes = chunk_letters("NODE"),
  stacks = chunk_letters("STAC"),
  same_names = chunk_letters("SAME"),
  tracks = chunk_letters("TRAC"),
  looks = chunk_letters("LOOK"),
  marks = chunk_letters("MARK"),
  threads = chunk_letters("THRD"),
  events = chunk_letters("EVNT"),
  gaps = chunk_letters("GAPS"),
  checkpoints = chunk_letters("CKPT"),
  live_blocks = chunk_letters("LIVE"),
  culled = chunk_letters("CULL"),
  symbols = chunk_letters("SYMB"),
  locations = chunk_letters("LOCA"),
  named_nodes = chunk_letters("PATH"),
  named_stacks = chunk_letters("NAMD"),
  end = chunk_letters("END "),
};

// The tables, in an order in which none refers to a later one.
inline constexpr std::array table_kinds{
    ChunkKind::texts,   ChunkKind::modules, ChunkKind::spaces, ChunkKind::mappings,
    ChunkKind::scripts, ChunkKind::nodes,   ChunkKind::stacks, ChunkKind::same_names,
    ChunkKind::threads, ChunkKind::tracks,  ChunkKind::marks,
};

// Whether a chunk has events, or what belongs to them.
constexpr bool is_of_events(ChunkKind kind) {
  return kind == ChunkKind::events || kind == ChunkKind::gaps || kind == ChunkKind::checkpoints ||
         kind == ChunkKind::live_blocks || kind == ChunkKind::culled;
}

struct Chunk {
  ChunkKind kind{};
  std::string content;
};

struct ChunkHead {
  static constexpr size_t size = 24;
  static constexpr unsigned newest_version = 1;

  uint32_t kind = 0;
  uint8_t version = newest_version;
  bool packed = false;
  uint16_t number = 0;  // the lowest bits of the chunk's place in the file, from 0
  uint32_t stored_bytes = 0, content_bytes = 0;
  uint32_t checksum = 0;  // of what is stored: CRC-32 as in zlib

  // None if its checksum does not fit, or if a size is beyond what is written.
  static std::optional<ChunkHead> read(std::string_view bytes);
  bool is_known() const;
};

// Chunks are split before they get this large; larger ones are refused.
inline constexpr size_t usual_chunk = size_t{1} << 20U, largest_chunk = size_t{64} << 20U;

// So that a small file cannot describe gigabytes, content that packs better than this is padded.
constexpr uint64_t largest_content(uint64_t stored) { return 1024 + 64 * stored; }

class ChunkPacker {
 public:
  ChunkPacker();
  // Appends head and content.
  void pack(const Chunk& chunk, uint16_t number, std::string& into);
  // Appends a chunk as it is stored elsewhere, with another number.
  static void copy(const ChunkHead& head, std::string_view stored, uint16_t number,
                   std::string& into);

 private:
  size_t pad(size_t packed, size_t content);

  std::unique_ptr<ZSTD_CCtx_s, size_t (*)(ZSTD_CCtx_s*)> state_;
  std::string packed_;
};

class ChunkUnpacker {
 public:
  ChunkUnpacker();
  // Throws DamagedChunk if the checksum does not fit.
  static void check(const ChunkHead& head, std::string_view stored);
  // Throws DamagedChunk if checksum or size do not fit. The result is valid until the next call,
  // and as long as `stored`.
  std::string_view unpack(const ChunkHead& head, std::string_view stored);

 private:
  std::unique_ptr<ZSTD_DCtx_s, size_t (*)(ZSTD_DCtx_s*)> state_;
  std::string content_;
};

}  // namespace memflame
