// SPDX-License-Identifier: BSD-2-Clause
#include <zlib.h>

#include <array>
#include <string>

#include "collapse/unpack/unpack.h"
#include "core/error.h"

namespace memflame {
namespace {

class Gzip : public ByteStream {
 public:
  explicit Gzip(std::unique_ptr<ByteStream> packed) : packed_(std::move(packed)) {
    constexpr int gzip_only = 16;
    if (inflateInit2(&state_, MAX_WBITS + gzip_only) != Z_OK) throw Error("out of memory");
  }
  ~Gzip() override { inflateEnd(&state_); }

  size_t read(char* into, size_t size) override {
    if (size == 0) return 0;
    state_.next_out = reinterpret_cast<Bytef*>(into);
    state_.avail_out = static_cast<uInt>(std::min(size, size_t{1} << 30U));
    const uInt room = state_.avail_out;
    while (state_.avail_out == room && more()) {
      const int result = inflate(&state_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        between_ = true;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        throw Error(std::string("its gzip data is damaged") +
                    (state_.msg != nullptr ? std::string(": ") + state_.msg : ""));
      }
    }
    return room - state_.avail_out;
  }

 private:
  // Gets more packed bytes; false at the end behind a whole member.
  bool more() {
    fill();
    if (between_) skip_padding();
    if (state_.avail_in == 0 && between_) return false;
    if (state_.avail_in == 0) throw Error("its gzip data ends too soon");
    if (between_) inflateReset(&state_);
    between_ = false;
    return true;
  }

  void fill() {
    if (state_.avail_in != 0) return;
    state_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    state_.avail_in = static_cast<uInt>(packed_->read(buffer_.data(), buffer_.size()));
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
    if (any && state_.avail_in != 0)
      throw Error("its gzip data is damaged: zeros and more behind its end");
  }

  std::unique_ptr<ByteStream> packed_;
  z_stream state_{};
  std::array<char, size_t{256} << 10U> buffer_{};
  bool between_ = false;  // members
};

}  // namespace

std::unique_ptr<ByteStream> unpack_gzip(std::unique_ptr<ByteStream> packed) {
  return std::make_unique<Gzip>(std::move(packed));
}

}  // namespace memflame
