// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/chunks.h"

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
    case ChunkKind::nodes:
    case ChunkKind::stacks:
    case ChunkKind::tracks:
    case ChunkKind::looks:
    case ChunkKind::marks:
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
  const size_t packed =
      ZSTD_compress2(state_.get(), packed_.data(), packed_.size(), content.data(), content.size());
  const bool use = ZSTD_isError(packed) == 0 && packed < content.size() &&
                   content.size() <= largest_content(packed);
  const std::string_view stored = use ? std::string_view(packed_).substr(0, packed) : content;
  const size_t begin = into.size();
  put(into, static_cast<uint32_t>(chunk.kind));
  put(into, static_cast<uint8_t>(ChunkHead::newest_version));
  put(into, static_cast<uint8_t>(use ? 1 : 0));
  put(into, number);
  put(into, static_cast<uint32_t>(stored.size()));
  put(into, static_cast<uint32_t>(content.size()));
  put(into, crc(stored));
  put(into, crc(std::string_view(into).substr(begin)));
  into.append(stored);
}

ChunkUnpacker::ChunkUnpacker() : state_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
  if (!state_) throw Error("out of memory");
}

std::string_view ChunkUnpacker::unpack(const ChunkHead& head, std::string_view stored) {
  if (crc(stored) != head.checksum) throw DamagedChunk("its checksum does not fit");
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
