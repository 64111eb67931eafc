// SPDX-License-Identifier: BSD-2-Clause
#include "probes/system/packed_object.h"

#include <bpf/libbpf.h>
#include <doctest/doctest.h>

#include <cerrno>
#include <memory>
#include <vector>

extern "C" {
extern const std::byte memflame_pids_object[];
extern const std::byte memflame_pids_object_end[];
}

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Object = std::unique_ptr<bpf_object, void (*)(bpf_object*)>;

Object opened(std::span<const std::byte> packed) {
  return {open_packed(packed), bpf_object__close};
}

}  // namespace

TEST_CASE("a packed object has its programs") {
  const Object object = opened({memflame_pids_object, memflame_pids_object_end});
  REQUIRE(object);
  CHECK(bpf_object__find_program_by_name(object.get(), "memflame_pids") != nullptr);
}

TEST_CASE("a packed object that is damaged is refused") {
  libbpf_set_print(nullptr);
  const std::span<const std::byte> packed{memflame_pids_object, memflame_pids_object_end};
  std::vector<std::byte> damaged(packed.begin(), packed.end());
  SUBCASE("cut off") { damaged.resize(damaged.size() / 2); }
  SUBCASE("another head") { damaged[0] ^= std::byte{1}; }
  SUBCASE("empty") { damaged.clear(); }
  errno = 0;
  CHECK_FALSE(opened(damaged));
  CHECK(errno == EINVAL);
}
