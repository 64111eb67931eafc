// SPDX-License-Identifier: BSD-2-Clause
// Writes folded text like that of a large C++ server: STACKS distinct stacks in bytewise order,
// about 18 frames and 1 KB a line, each with two or three frames that the line before has not.
//
//   make_folded STACKS [later|shuffled]
//
// "later" is the same program some time after: 3 % of the stacks are gone, the others have other
// counts. The same arguments give the same bytes everywhere.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace {

// splitmix64 (Sebastiano Vigna, public domain)
struct Random {
  uint64_t state;
  uint64_t operator()() {
    uint64_t x = state += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  uint64_t below(uint64_t end) { return (*this)() % end; }
};

std::vector<std::string> make_names(Random& random) {
  constexpr std::string_view words[] = {"server",   "Request", "detail", "parse",  "Handler",
                                        "allocate", "Buffer",  "io",     "stream", "Connection",
                                        "vector",   "string",  "queue",  "Cache",  "lookup"};
  std::vector<std::string> names(50000);
  for (size_t i = 0; i < names.size(); ++i) {
    std::string& name = names[i];
    while (name.size() < 16 + random.below(64)) {
      name += words[random.below(std::size(words))];
      name += random.below(4) == 0 ? "<unsigned long>::" : "::";
    }
    name += "f" + std::to_string(i) + "(int)";
  }
  return names;
}

// Names of the frames of each stack, as indices, in bytewise order of the text.
std::vector<std::string> make_stacks(size_t count, Random& random) {
  const std::vector<std::string> names = make_names(random);
  std::vector<std::string> stacks;
  std::vector<size_t> frames;
  while (stacks.size() < count) {
    for (size_t i = 0; i < count - stacks.size(); ++i) {
      const size_t depth = 14 + random.below(9);
      size_t fresh = 1 + random.below(2);
      while (fresh < depth && random.below(16) < 7) ++fresh;
      frames.resize(std::min(frames.size(), depth - std::min(depth, fresh)));
      while (frames.size() < depth) frames.push_back(random.below(names.size()));
      std::string& stack = stacks.emplace_back();
      for (const size_t frame : frames) (stack += stack.empty() ? "" : ";") += names[frame];
    }
    std::sort(stacks.begin(), stacks.end());
    stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
  }
  return stacks;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: make_folded STACKS [later|shuffled]\n", stderr), 2;
  const std::string_view variant = argc > 2 ? argv[2] : "";
  Random random{1};
  const std::vector<std::string> stacks = make_stacks(std::strtoull(argv[1], nullptr, 10), random);
  Random counts{variant == "later" ? 3U : 2U};
  std::vector<size_t> order(stacks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (variant == "shuffled")
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[counts.below(i)]);
  for (const size_t i : order) {
    if (variant == "later" && counts.below(100) < 3) continue;
    std::fwrite(stacks[i].data(), 1, stacks[i].size(), stdout);
    std::printf(" %llu\n", static_cast<unsigned long long>(1 + counts.below(1000000)));
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
