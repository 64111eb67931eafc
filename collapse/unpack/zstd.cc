// SPDX-License-Identifier: BSD-2-Clause
#include <zstd.h>

#include <array>
#include <string>

#include "collapse/unpack/unpack.h"
#include "core/error.h"

namespace memflame {
namespace {

class Zstd : public ByteStream {
 public:
  explicit Zstd(std::unique_ptr<ByteStream> packed)
      : packed_(std::move(packed)), state_(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (!state_) throw Error("out of memory");
  }

  size_t read(char* into, size_t size) override {
    if (size == 0) return 0;
    ZSTD_outBuffer out{into, size, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size)
        in_ = {buffer_.data(), packed_->read(buffer_.data(), buffer_.size()), 0};
      const bool ended = in_.size == 0;
      if (ended && between_) return 0;
      const size_t result = ZSTD_decompressStream(state_.get(), &out, &in_);
      if (ZSTD_isError(result) != 0)
        throw Error(std::string("its zstd data is damaged: ") + ZSTD_getErrorName(result));
      between_ = result == 0;
      if (ended && out.pos == 0 && !between_) throw Error("its zstd data ends too soon");
    }
    return out.pos;
  }

 private:
  std::unique_ptr<ByteStream> packed_;
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> state_;
  std::array<char, size_t{256} << 10U> buffer_{};
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool between_ = true;  // frames
};

}  // namespace

std::unique_ptr<ByteStream> unpack_zstd(std::unique_ptr<ByteStream> packed) {
  return std::make_unique<Zstd>(std::move(packed));
}

}  // namespace memflame
