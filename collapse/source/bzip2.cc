// SPDX-License-Identifier: BSD-2-Clause
#include <bzlib.h>

#include <algorithm>

#include "collapse/source/unpack.h"
#include "collapse/source/unpacker.h"
#include "core/error.h"

namespace memflame {
namespace {

class Bzip2 : public Unpacker {
 public:
  explicit Bzip2(std::unique_ptr<ByteStream> packed) : Unpacker("bzip2", std::move(packed)) {
    begin();
  }
  ~Bzip2() override { BZ2_bzDecompressEnd(&state_); }

 protected:
  size_t unpack(char* into, size_t size) override {
    state_.next_out = into;
    state_.avail_out = static_cast<unsigned>(std::min(size, size_t{1} << 30U));
    const unsigned room = state_.avail_out;
    while (state_.avail_out == room) {
      if (state_.avail_in == 0) {
        const std::span<char> bytes = more();
        state_.next_in = bytes.data();
        state_.avail_in = static_cast<unsigned>(bytes.size());
      }
      const bool ended = state_.avail_in == 0;
      if (ended && between_) return 0;
      if (between_) {
        BZ2_bzDecompressEnd(&state_);
        begin();
      }
      between_ = false;
      const int result = BZ2_bzDecompress(&state_);
      if (result == BZ_STREAM_END)
        between_ = true;
      else if (result != BZ_OK)
        damaged("");
      else if (ended && state_.avail_out == room)
        return cut_off();
    }
    return room - state_.avail_out;
  }

 private:
  // Keeps the bytes that are not read yet.
  void begin() {
    bz_stream fresh{};
    fresh.next_in = state_.next_in;
    fresh.avail_in = state_.avail_in;
    fresh.next_out = state_.next_out;
    fresh.avail_out = state_.avail_out;
    state_ = fresh;
    if (BZ2_bzDecompressInit(&state_, 0, 0) != BZ_OK) throw Error("out of memory");
  }

  bz_stream state_{};
  bool between_ = false;  // streams
};

}  // namespace

std::unique_ptr<ByteStream> unpack_bzip2(std::unique_ptr<ByteStream> packed) {
  return std::make_unique<Bzip2>(std::move(packed));
}

}  // namespace memflame
