// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/ring.h"

#include <bpf/bpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "core/unique_fd.h"
#include "tests/support/skipped.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// A program that sends one record of eight bytes each time it runs.
UniqueFd sender(int ring) {
  constexpr uint8_t move = BPF_ALU64 | BPF_MOV | BPF_K;
  // NOLINTBEGIN(misc-redundant-expression): some of the flags are 0, and say what is meant
  const std::array code{
      bpf_insn{BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, 42},
      bpf_insn{BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, ring},
      bpf_insn{},
      bpf_insn{BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0},
      bpf_insn{BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -8},
      bpf_insn{move, BPF_REG_3, 0, 0, 8},
      bpf_insn{move, BPF_REG_4, 0, 0, 0},
      bpf_insn{BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_output},
      bpf_insn{move, BPF_REG_0, 0, 0, 0},
      bpf_insn{BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
  };
  // NOLINTEND(misc-redundant-expression)
  return UniqueFd(::bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "sender", "GPL", code.data(),
                                  code.size(), nullptr));
}

void send(const UniqueFd& program) {
  std::array<char, 64> packet{};
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  options.data_in = packet.data();
  options.data_size_in = packet.size();
  REQUIRE(::bpf_prog_test_run_opts(program.get(), &options) == 0);
}

}  // namespace

TEST_CASE("what the handler throws comes out of fetch(), once, and later records are read") {
  const UniqueFd map(::bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, 4096, nullptr));
  const UniqueFd program = map ? sender(map.get()) : UniqueFd();
  if (!program) return skip("BPF is not allowed here");
  bool fails = true;
  size_t met = 0, handled = 0;
  Ring ring(map.get(), 1 << 20, [&](std::span<const std::byte>) {
    ++met;
    if (fails) throw std::runtime_error("cannot be kept");
  });
  send(program);
  CHECK_THROWS_WITH_AS(ring.fetch(0), "cannot be kept", std::runtime_error);
  fails = false;
  ring.fetch(0);
  send(program);
  ring.fetch(0);
  ring.handle([&](std::span<const std::byte> record) {
    CHECK(record.size() == 8);
    ++handled;
  });
  CHECK(met == 2);
  CHECK(handled == 1);
}
