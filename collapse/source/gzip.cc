// SPDX-License-Identifier: BSD-2-Clause
#include <zlib.h>

#include <algorithm>

#include "collapse/source/unpack.h"
#include "collapse/source/unpacker.h"
#include "core/error.h"

namespace memflame {
namespace {

class Gzip : public Unpacker {
 public:
  explicit Gzip(std::unique_ptr<ByteStream> packed) : Unpacker("gzip", std::move(packed)) {
    constexpr int gzip_only = 16;
    if (inflateInit2(&state_, MAX_WBITS + gzip_only) != Z_OK) throw Error("out of memory");
  }
  ~Gzip() override { inflateEnd(&state_); }

 protected:
  size_t unpack(char* into, size_t size) override {
    state_.next_out = reinterpret_cast<Bytef*>(into);
    state_.avail_out = static_cast<uInt>(std::min(size, size_t{1} << 30U));
    const uInt room = state_.avail_out;
    while (state_.avail_out == room) {
      fill();
      if (between_) skip_padding();
      const bool ended = state_.avail_in == 0;
      if (ended && between_) return 0;
      if (between_) inflateReset(&state_);
      between_ = false;
      // Without more bytes, it may still have some to return.
      const int result = inflate(&state_, Z_NO_FLUSH);
      if (result == Z_STREAM_END)
        between_ = true;
      else if (result != Z_OK && result != Z_BUF_ERROR)
        damaged(state_.msg != nullptr ? state_.msg : "");
      else if (ended && state_.avail_out == room)
        return cut_off();
    }
    return room - state_.avail_out;
  }

 private:
  void fill() {
    if (state_.avail_in != 0) return;
    const std::span<char> bytes = more();
    state_.next_in = reinterpret_cast<Bytef*>(bytes.data());
    state_.avail_in = static_cast<uInt>(bytes.size());
  }

  // Skips zeros up to the end, which tapes and block devices leave behind a file.
  void skip_padding() {
    bool any = false;
    while (state_.avail_in != 0 && *state_.next_in == 0) {
      any = true;
      ++state_.next_in;
      --state_.avail_in;
      fill();
    }
    if (any && state_.avail_in != 0) damaged("zeros and more behind its end");
  }

  z_stream state_{};
  bool between_ = false;  // members
};

}  // namespace

std::unique_ptr<ByteStream> unpack_gzip(std::unique_ptr<ByteStream> packed) {
  return std::make_unique<Gzip>(std::move(packed));
}

}  // namespace memflame
