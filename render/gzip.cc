#include "render/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>

#include "core/error.h"

namespace memflame {

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
    deflate(&stream, flush);
    out_.write(state_->packed.data(),
               static_cast<std::streamsize>(state_->packed.size() - stream.avail_out));
  } while (stream.avail_out == 0);
}

}  // namespace memflame
