// SPDX-License-Identifier: BSD-2-Clause
#include "probes/system/packed_object.h"

#include <bpf/libbpf.h>
#include <zstd.h>

#include <cerrno>
#include <memory>
#include <vector>

namespace memflame {
namespace {

// Empty if the bytes are damaged.
std::vector<std::byte> unpack(std::span<const std::byte> packed) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> state(ZSTD_createDStream(),
                                                                       ZSTD_freeDStream);
  std::vector<std::byte> bytes(packed.size() * 8 + 1);
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  ZSTD_outBuffer out{bytes.data(), bytes.size(), 0};
  for (size_t left = 1; left != 0;) {
    left = ZSTD_decompressStream(state.get(), &out, &in);
    if (ZSTD_isError(left) != 0 || (left != 0 && in.pos == in.size && out.pos < out.size))
      return {};
    if (left == 0 || out.pos < out.size) continue;
    bytes.resize(bytes.size() * 2);
    out.dst = bytes.data();
    out.size = bytes.size();
  }
  bytes.resize(out.pos);
  return bytes;
}

}  // namespace

// libbpf keeps nothing of the bytes.
bpf_object* open_packed(std::span<const std::byte> packed, const char* types) {
  const std::vector<std::byte> bytes = unpack(packed);
  bpf_object_open_opts options{};
  options.sz = sizeof(options);
  options.btf_custom_path = types;
  if (!bytes.empty()) return bpf_object__open_mem(bytes.data(), bytes.size(), &options);
  errno = EINVAL;
  return nullptr;
}

}  // namespace memflame
