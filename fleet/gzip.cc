// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <climits>

#include "core/error.h"

namespace memflame {

std::string gzip_body(std::string_view bytes) {
  z_stream stream{};
  constexpr int gzip_window = 15 + 16, memory = 8;
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw Error("out of memory");
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  size_t taken = 0, made = 0;
  int result = Z_OK;
  // zlib counts what it is given in 32 bits.
  while (result == Z_OK) {
    const auto in = static_cast<uInt>(std::min<size_t>(bytes.size() - taken, UINT_MAX));
    const auto out = static_cast<uInt>(std::min<size_t>(packed.size() - made, UINT_MAX));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(packed.data() + made);
    stream.avail_out = out;
    result = deflate(&stream, taken + in == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    taken += in - stream.avail_in;
    made += out - stream.avail_out;
  }
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw Error("internal: zlib could not pack a request");
  packed.resize(made);
  return packed;
}

}  // namespace memflame
