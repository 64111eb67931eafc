// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/bytehound_traces.h"

#include <limits>
#include <utility>

#include "core/error.h"

namespace memflame {
namespace {

constexpr size_t most_bytehound_frames = size_t{1} << 20U;

}  // namespace

void BytehoundTraces::take(size_t width, BytehoundBytes& bytes, uint64_t list) {
  const uint64_t number = bytes.u64();
  std::vector<uint64_t> addresses;
  bytes.numbers(width, most_bytehound_frames, addresses);
  traces_[number] = {.addresses = std::move(addresses), .list = list, .track = 0};
}

void BytehoundTraces::take_partial(size_t width, BytehoundBytes& bytes, uint64_t list) {
  const uint64_t number = bytes.u64();
  const uint32_t thread = bytes.u32(), invalid = bytes.u32();
  std::vector<uint64_t> addresses;
  bytes.numbers(width, most_bytehound_frames, addresses);
  constexpr uint32_t all = std::numeric_limits<uint32_t>::max();
  std::vector<uint64_t>& last = last_[thread];
  if (invalid != all && invalid < last.size()) {
    // Without a limit a file's size would not bound the work.
    constexpr uint64_t most_frames_a_byte = 8, at_least = uint64_t{1} << 20U;
    taken_over_ += last.size() - invalid;
    if (taken_over_ > at_least + most_frames_a_byte * bytes.position())
      throw Error("its stacks unfold to more than 8 frames a byte; it cannot be right");
    addresses.insert(addresses.end(), last.begin() + invalid, last.end());
  }
  last = addresses;
  traces_[number] = {.addresses = std::move(addresses), .list = list, .track = 0};
}

}  // namespace memflame
