// SPDX-License-Identifier: BSD-2-Clause
#include <lzma.h>

#include "collapse/source/unpack.h"
#include "collapse/source/unpacker.h"
#include "core/error.h"

namespace memflame {
namespace {

class Xz : public Unpacker {
 public:
  explicit Xz(std::unique_ptr<ByteStream> packed) : Unpacker("xz", std::move(packed)) {
    constexpr uint64_t memory = uint64_t{1} << 30U;  // a hostile header may ask for any amount
    if (lzma_stream_decoder(&state_, memory, LZMA_CONCATENATED) != LZMA_OK)
      throw Error("out of memory");
  }
  ~Xz() override { lzma_end(&state_); }

 protected:
  size_t unpack(char* into, size_t size) override {
    state_.next_out = reinterpret_cast<uint8_t*>(into);
    state_.avail_out = size;
    while (state_.avail_out == size && !ended_) {
      if (state_.avail_in == 0) {
        const std::span<char> bytes = more();
        state_.next_in = reinterpret_cast<const uint8_t*>(bytes.data());
        state_.avail_in = bytes.size();
      }
      const lzma_ret result = lzma_code(&state_, state_.avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
      ended_ = result == LZMA_STREAM_END;
      if (result == LZMA_BUF_ERROR) return cut_off();
      if (result == LZMA_MEMLIMIT_ERROR) throw Error("its xz data needs more than 1 GiB to unpack");
      if (result != LZMA_OK && !ended_) damaged("");
    }
    return size - state_.avail_out;
  }

 private:
  lzma_stream state_ = LZMA_STREAM_INIT;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> unpack_xz(std::unique_ptr<ByteStream> packed) {
  return std::make_unique<Xz>(std::move(packed));
}

}  // namespace memflame
