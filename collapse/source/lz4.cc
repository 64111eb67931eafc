// SPDX-License-Identifier: BSD-2-Clause
#include <lz4frame.h>

#include "collapse/source/unpack.h"
#include "collapse/source/unpacker.h"
#include "core/error.h"

namespace memflame {
namespace {

class Lz4 : public Unpacker {
 public:
  explicit Lz4(std::unique_ptr<ByteStream> packed)
      : Unpacker("lz4", std::move(packed)), state_(nullptr, LZ4F_freeDecompressionContext) {
    LZ4F_dctx* made = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)) != 0)
      throw Error("out of memory");
    state_.reset(made);
  }

 protected:
  size_t unpack(char* into, size_t size) override {
    for (;;) {
      if (in_.empty()) in_ = more();
      const bool ended = in_.empty();
      if (ended && between_) return 0;
      size_t out = size, taken = in_.size();
      const size_t result = LZ4F_decompress(state_.get(), into, &out, in_.data(), &taken, nullptr);
      if (LZ4F_isError(result) != 0) damaged(LZ4F_getErrorName(result));
      in_ = in_.subspan(taken);
      between_ = result == 0;
      if (out != 0) return out;
      if (ended) return between_ ? 0 : cut_off();
    }
  }

 private:
  std::unique_ptr<LZ4F_dctx, LZ4F_errorCode_t (*)(LZ4F_dctx*)> state_;
  std::span<char> in_;
  bool between_ = true;  // frames
};

}  // namespace

std::unique_ptr<ByteStream> unpack_lz4(std::unique_ptr<ByteStream> packed) {
  return std::make_unique<Lz4>(std::move(packed));
}

}  // namespace memflame
