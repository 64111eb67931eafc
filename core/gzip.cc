// SPDX-License-Identifier: BSD-2-Clause
#include "core/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <future>
#include <vector>

#include "core/error.h"

namespace memflame {

namespace {

constexpr size_t piece_size = size_t{2} << 20U;
constexpr size_t window_size = size_t{32} << 10U;  // how far back deflate looks
constexpr size_t tight_pieces = 2;                 // at the front, where a picture has its names
constexpr int quick = 2;                           // level of the others

struct Piece {
  std::string packed;
  unsigned long crc = 0;
};

// A part of a deflate stream that ends on a byte; `before` precedes it.
Piece pack_piece(std::string_view bytes, std::string_view before, bool last, int level) {
  z_stream stream{};
  constexpr int raw_window = -15, memory = 8;
  if (deflateInit2(&stream, level, Z_DEFLATED, raw_window, memory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("out of memory");
  before = before.substr(before.size() - std::min(before.size(), window_size));
  const auto* dictionary = reinterpret_cast<const Bytef*>(before.data());
  if (!before.empty()) deflateSetDictionary(&stream, dictionary, static_cast<uInt>(before.size()));
  Piece piece;
  constexpr size_t flush_mark = 16;
  piece.packed.resize(deflateBound(&stream, bytes.size()) + flush_mark);
  const auto* from = reinterpret_cast<const Bytef*>(bytes.data());
  piece.crc = crc32(0, from, static_cast<uInt>(bytes.size()));
  stream.next_in = const_cast<Bytef*>(from);  // zlib reads only
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(piece.packed.data());
  stream.avail_out = static_cast<uInt>(piece.packed.size());
  const int result = deflate(&stream, last ? Z_FINISH : Z_SYNC_FLUSH);
  piece.packed.resize(piece.packed.size() - stream.avail_out);
  deflateEnd(&stream);
  if (result != (last ? Z_STREAM_END : Z_OK)) throw Error("internal: zlib could not pack the text");
  return piece;
}

void append_little_endian(std::string& out, uint64_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
}

// `tight`: how many pieces at the front take the time to be packed tightly.
std::string packed_in_pieces(std::string_view bytes, unsigned threads, size_t tight, int level) {
  const size_t count = std::max<size_t>((bytes.size() + piece_size - 1) / piece_size, 1);
  std::vector<Piece> pieces(count);
  const auto piece = [&](size_t i) { return bytes.substr(i * piece_size, piece_size); };
  std::vector<std::future<void>> others;
  const auto work = [&](size_t first, size_t step) {
    for (size_t i = first; i < count; i += step)
      pieces[i] = pack_piece(piece(i), i == 0 ? "" : piece(i - 1), i + 1 == count,
                             i < tight ? Z_DEFAULT_COMPRESSION : level);
  };
  const size_t workers = std::clamp<size_t>(threads, 1, count);
  for (size_t i = 1; i < workers; ++i)
    others.push_back(std::async(std::launch::async, work, i, workers));
  work(0, workers);
  for (std::future<void>& other : others) other.get();
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);  // deflate; no name, no time, any system
  unsigned long crc = crc32(0, nullptr, 0);
  for (size_t i = 0; i < count; ++i) {
    out += pieces[i].packed;
    crc = crc32_combine(crc, pieces[i].crc, static_cast<z_off_t>(piece(i).size()));
    pieces[i] = {};
  }
  append_little_endian(out, crc);
  append_little_endian(out, bytes.size());
  return out;
}

}  // namespace

std::string gzip_packed(std::string_view bytes, unsigned threads) {
  return packed_in_pieces(bytes, threads, tight_pieces, quick);
}

std::string gzip_body(std::string_view bytes) {
  return packed_in_pieces(bytes, 1, 0, Z_BEST_SPEED);
}

struct Gzip::State {
  z_stream stream{};
  std::array<char, size_t{64} << 10U> packed{};
};

Gzip::Gzip(std::ostream& out) : out_(out), state_(std::make_unique<State>()) {
  constexpr int as_gzip = 16, window = 15, memory = 8;
  if (deflateInit2(&state_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, as_gzip + window, memory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("out of memory");
}

Gzip::~Gzip() { deflateEnd(&state_->stream); }

void Gzip::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t now = std::min<size_t>(bytes.size(), UINT_MAX);
    // zlib reads only.
    state_->stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    state_->stream.avail_in = static_cast<uInt>(now);
    pack(Z_NO_FLUSH);
    bytes.remove_prefix(now);
  }
}

void Gzip::finish() { pack(Z_FINISH); }

void Gzip::pack(int flush) {
  z_stream& stream = state_->stream;
  do {
    stream.next_out = reinterpret_cast<Bytef*>(state_->packed.data());
    stream.avail_out = static_cast<uInt>(state_->packed.size());
    if (deflate(&stream, flush) == Z_STREAM_ERROR)
      throw Error("internal: zlib could not pack the text");
    out_.write(state_->packed.data(),
               static_cast<std::streamsize>(state_->packed.size() - stream.avail_out));
  } while (stream.avail_out == 0);
}

}  // namespace memflame
