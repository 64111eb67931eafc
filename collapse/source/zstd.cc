// SPDX-License-Identifier: BSD-2-Clause
#include <zstd.h>

#include "collapse/source/unpack.h"
#include "collapse/source/unpacker.h"
#include "core/error.h"

namespace memflame {
namespace {

class Zstd : public Unpacker {
 public:
  explicit Zstd(std::unique_ptr<ByteStream> packed)
      : Unpacker("zstd", std::move(packed)), state_(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (!state_) throw Error("out of memory");
  }

 protected:
  size_t unpack(char* into, size_t size) override {
    ZSTD_outBuffer out{into, size, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size) {
        const std::span<char> bytes = more();
        in_ = {bytes.data(), bytes.size(), 0};
      }
      const bool ended = in_.size == 0;
      if (ended && between_) return 0;
      if (between_) expect_frame();
      const size_t result = ZSTD_decompressStream(state_.get(), &out, &in_);
      if (ZSTD_isError(result) != 0) damaged(ZSTD_getErrorName(result));
      between_ = result == 0;
      if (ended && out.pos == 0 && !between_) return cut_off();
    }
    return out.pos;
  }

 private:
  // Most frames say how long they are.
  void expect_frame() {
    const unsigned long long size =
        ZSTD_getFrameContentSize(static_cast<const char*>(in_.src) + in_.pos, in_.size - in_.pos);
    const bool known = size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR;
    expect(known && size < uint64_t{1} << 62U ? unpacked() + size : 0);
  }

  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> state_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool between_ = true;  // frames
};

}  // namespace

std::unique_ptr<ByteStream> unpack_zstd(std::unique_ptr<ByteStream> packed) {
  return std::make_unique<Zstd>(std::move(packed));
}

}  // namespace memflame
