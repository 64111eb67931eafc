// SPDX-License-Identifier: BSD-2-Clause
#include "probes/waste/chunk_slack.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>

namespace memflame {
namespace {

// In front of a block lies the size of its chunk, which is a multiple of 16; its lower bits are
// flags. A chunk shares a word with the next one, unless it has a mapping of its own.
constexpr uint64_t chunk_word_bytes = sizeof(uint64_t), flags = 7, own_mapping = 2;
constexpr uint64_t least_chunk = 32, chunk_step = 16;
// A chunk is at most some pages longer than the block: those with a mapping of their own end with
// a page, and realloc() makes others smaller only if the rest can be a chunk.
constexpr uint64_t most_slack = 2 * 4096 + 64;
// Below this share of words that fit, they are those of another allocator.
constexpr double least_share = 0.99;

constexpr size_t words_at_once = 1024;  // UIO_MAXIOV

}  // namespace

std::optional<uint64_t> slack_of(uint64_t size, uint64_t word) {
  const uint64_t chunk = word & ~flags;
  if (chunk < least_chunk || chunk % chunk_step != 0) return std::nullopt;
  const uint64_t usable =
      chunk - ((word & own_mapping) != 0 ? 2 * chunk_word_bytes : chunk_word_bytes);
  if (usable < size || usable - size > most_slack) return std::nullopt;
  return usable - size;
}

std::vector<BlockSlack> slack_of(pid_t pid, std::span<const WasteBlock> blocks) {
  std::vector<BlockSlack> slack(blocks.size());
  std::array<uint64_t, words_at_once> words{};
  std::vector<iovec> there;
  size_t known = 0, strange = 0;
  for (size_t at = 0; at < blocks.size();) {
    const size_t count = std::min(words_at_once, blocks.size() - at);
    there.clear();
    for (const WasteBlock& block : blocks.subspan(at, count))
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      there.push_back(
          {reinterpret_cast<void*>(block.address - chunk_word_bytes), chunk_word_bytes});
    const iovec here{words.data(), count * chunk_word_bytes};
    const ssize_t got = ::process_vm_readv(pid, &here, 1, there.data(), count, 0);
    const size_t read = got <= 0 ? 0 : static_cast<size_t>(got) / chunk_word_bytes;
    for (size_t i = 0; i < read; ++i) {
      slack[at + i] = slack_of(blocks[at + i].size, words.at(i));
      ++(slack[at + i] ? known : strange);
    }
    at += read < count ? read + 1 : count;  // the block behind those that were read is gone
  }
  if (known == 0 || static_cast<double>(known) < least_share * static_cast<double>(known + strange))
    return {};
  return slack;
}

}  // namespace memflame
