// SPDX-License-Identifier: BSD-2-Clause
#include "core/scan.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/hash_chain.h"

namespace memflame {
namespace {

// A chunk of keys more than a stretch has, for the second sum.
using Keys = std::array<uint64_t, (stretch_chunks + 1) * chunk_words>;

const Keys& scan_keys() {
  static const Keys keys = [] {
    Keys made{};
    for (size_t i = 0; i < made.size(); ++i)
      made[i] = hash_bytes({reinterpret_cast<const char*>(&i), sizeof i});
    return made;
  }();
  return keys;
}

// The last stretch, and the length of all. A sum has all its randomness in its upper bits.
Hash128 finished(const Hash128& stretches, uint64_t low, uint64_t high, size_t size) {
  const Hash128 all = chained(chained(stretches, {low, high}), {size, 0});
  return {mix(all.low, all.high), mix(all.high, all.low)};
}

}  // namespace

Paragraph first_paragraph_by(ScanChunks scan, std::string_view text) {
  const Keys& keys = scan_keys();
  Hash128 stretches{};
  ChunkScan found;
  size_t begin = 0;  // of the chunks to come
  for (size_t chunk = 0;;) {
    const size_t left = text.size() - begin;
    const size_t count = std::min(left / chunk_bytes, stretch_chunks - chunk);
    const uint64_t* const key = &keys[chunk * chunk_words];
    if (count != 0) {
      scan(text.data() + begin, count, key, found);
    } else if (left != 0) {  // the last bytes of the text, filled up
      std::array<char, chunk_bytes> last{};
      std::memcpy(last.data(), text.data() + begin, left);
      scan(last.data(), 1, key, found);
    }
    if (found.end != SIZE_MAX) {
      const size_t size = begin + found.chunks * chunk_bytes + found.end;
      return {true, size, found.lines, finished(stretches, found.low, found.high, size)};
    }
    if (count == 0) return {};
    begin += count * chunk_bytes;
    chunk += count;
    if (chunk != stretch_chunks) continue;
    chunk = 0;
    stretches = chained(stretches, {found.low, found.high});
    found.low = found.high = 0;
  }
}

Paragraph first_paragraph_by_bytes(std::string_view text) {
  const bool none = text.starts_with('\n');
  const size_t size = none ? 0 : text.find("\n\n") + 1;
  if (size == 0 && !none) return {};
  const Keys& keys = scan_keys();
  Hash128 stretches{};
  uint64_t low = 0, high = 0;
  const size_t words = (size / chunk_bytes + 1) * chunk_words;  // of the empty line's chunk, too
  for (size_t i = 0; i < words; ++i) {
    const size_t key = i % (stretch_chunks * chunk_words);
    if (key == 0 && i != 0) {
      stretches = chained(stretches, {low, high});
      low = high = 0;
    }
    uint64_t word = 0;
    const size_t at = i * sizeof word;
    if (at < size) std::memcpy(&word, &text[at], std::min(sizeof word, size - at));
    const auto product = [&](uint64_t with) {
      const auto first = static_cast<uint32_t>(word + with);
      const auto second = static_cast<uint32_t>((word >> 32U) + (with >> 32U));
      return uint64_t{first} * second;
    };
    low += product(keys[key]);
    high += product(keys[key + chunk_words]);
  }
  const std::string_view all = text.substr(0, size);
  return {true, size, static_cast<size_t>(std::count(all.begin(), all.end(), '\n')),
          finished(stretches, low, high, size)};
}

Paragraph first_paragraph(std::string_view text) {
  static const ScanChunks best = has_avx2() ? scan_chunks_avx2 : scan_chunks_sse2;
  return first_paragraph_by(best, text);
}

}  // namespace memflame
