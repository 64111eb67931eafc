// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/chunks/chunks.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

namespace memflame {
namespace {

constexpr int zstd_level = 3;
constexpr size_t checksum_at = ChunkHead::size - sizeof(uint32_t);

uint32_t crc(std::string_view bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// Little-endian, as is every machine that memflame runs on.
template <class Number>
void put(std::string& into, Number value) {
  into.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_chunk(const ChunkHead& head, std::string_view stored, std::string& into) {
  const size_t begin = into.size();
  put(into, head.kind);
  put(into, head.version);
  put(into, static_cast<uint8_t>(head.packed ? 1 : 0));
  put(into, head.number);
  put(into, static_cast<uint32_t>(stored.size()));
  put(into, head.content_bytes);
  put(into, head.checksum);
  put(into, crc(std::string_view(into).substr(begin)));
  into.append(stored);
}

}  // namespace

std::optional<ChunkHead> ChunkHead::read(std::string_view bytes) {
  if (bytes.size() < size) return std::nullopt;
  ByteCursor in(std::as_bytes(std::span(bytes.substr(0, size))));
  ChunkHead head;
  head.kind = in.number<uint32_t>();
  head.version = in.byte();
  const uint8_t packing = in.byte();
  head.packed = packing == 1;
  head.number = in.number<uint16_t>();
  head.stored_bytes = in.number<uint32_t>();
  head.content_bytes = in.number<uint32_t>();
  head.checksum = in.number<uint32_t>();
  if (in.number<uint32_t>() != crc(bytes.substr(0, checksum_at)) || packing > 1)
    return std::nullopt;
  if (head.stored_bytes > largest_chunk || head.content_bytes > largest_chunk ||
      head.content_bytes > largest_content(head.stored_bytes))
    return std::nullopt;
  return head;
}

bool ChunkHead::is_known() const {
  switch (static_cast<ChunkKind>(kind)) {
    case ChunkKind::run:
    case ChunkKind::texts:
    case ChunkKind::modules:
    case ChunkKind::spaces:
    case ChunkKind::mappings:
    case ChunkKind::scripts:
    case ChunkKind::nodes:
    case ChunkKind::stacks:
    case ChunkKind::same_names:
    case ChunkKind::tracks:
    case ChunkKind::looks:
    case ChunkKind::marks:
    case ChunkKind::threads:
    case ChunkKind::events:
    case ChunkKind::gaps:
    case ChunkKind::checkpoints:
    case ChunkKind::live_blocks:
    case ChunkKind::culled:
    case ChunkKind::symbols:
    case ChunkKind::locations:
    case ChunkKind::named_nodes:
    case ChunkKind::named_stacks:
    case ChunkKind::end:
      return true;
  }
  return false;
}

ChunkPacker::ChunkPacker() : state_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
  if (!state_) throw Error("out of memory");
  // The head has the size.
  ZSTD_CCtx_setParameter(state_.get(), ZSTD_c_contentSizeFlag, 0);
  ZSTD_CCtx_setParameter(state_.get(), ZSTD_c_compressionLevel, zstd_level);
}

void ChunkPacker::pack(const Chunk& chunk, uint16_t number, std::string& into) {
  const std::string& content = chunk.content;
  if (content.size() > largest_chunk) throw Error("internal: a chunk of a recording is too large");
  packed_.resize(ZSTD_compressBound(content.size()));
  size_t packed =
      ZSTD_compress2(state_.get(), packed_.data(), packed_.size(), content.data(), content.size());
  if (ZSTD_isError(packed) == 0) packed = pad(packed, content.size());
  const bool use = ZSTD_isError(packed) == 0 && packed < content.size() &&
                   content.size() <= largest_content(packed);
  const std::string_view stored = use ? std::string_view(packed_).substr(0, packed) : content;
  put_chunk({.kind = static_cast<uint32_t>(chunk.kind),
             .packed = use,
             .number = number,
             .content_bytes = static_cast<uint32_t>(content.size()),
             .checksum = crc(stored)},
            stored, into);
}

// Content that packs too well gets a frame behind it that readers of zstd skip.
size_t ChunkPacker::pad(size_t packed, size_t content) {
  if (content <= largest_content(packed)) return packed;
  constexpr size_t frame_head = 8;
  const size_t padded = std::max((content - largest_content(0) + 63) / 64, packed + frame_head);
  const auto skipped = static_cast<uint32_t>(padded - packed - frame_head);
  packed_.resize(packed);
  put(packed_, uint32_t{ZSTD_MAGIC_SKIPPABLE_START});
  put(packed_, skipped);
  packed_.resize(padded);
  return padded;
}

void ChunkPacker::copy(const ChunkHead& head, std::string_view stored, uint16_t number,
                       std::string& into) {
  ChunkHead moved = head;
  moved.number = number;
  put_chunk(moved, stored, into);
}

ChunkUnpacker::ChunkUnpacker() : state_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
  if (!state_) throw Error("out of memory");
}

void ChunkUnpacker::check(const ChunkHead& head, std::string_view stored) {
  if (crc(stored) != head.checksum) throw DamagedChunk("its checksum does not fit");
}

std::string_view ChunkUnpacker::unpack(const ChunkHead& head, std::string_view stored) {
  check(head, stored);
  if (!head.packed) {
    if (head.content_bytes != stored.size()) throw DamagedChunk("its size does not fit");
    return stored;
  }
  if (content_.size() < head.content_bytes) content_.resize(head.content_bytes);
  const size_t size = ZSTD_decompressDCtx(state_.get(), content_.data(), head.content_bytes,
                                          stored.data(), stored.size());
  if (ZSTD_isError(size) != 0 || size != head.content_bytes)
    throw DamagedChunk("it cannot be unpacked");
  return std::string_view(content_).substr(0, size);
}

}  // namespace memflame
