// SPDX-License-Identifier: BSD-2-Clause
// What merging folded text costs without any of the rest: no checks, no names kept, 64-bit hashes
// that stand for the bytes.
//
//   folded_floor newlines|lines|trie FILE
//
// newlines: counts them; lines: adds up equal lines in one flat hash table; trie: a node for each
// frame of each stack, found by hashes of the caller and of the name.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

std::string_view mapped(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) return {};
  const auto size = static_cast<size_t>(status.st_size);
  const void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  return at == MAP_FAILED ? std::string_view{} : std::string_view(static_cast<const char*>(at), size);
}

class Table {
 public:
  uint64_t& operator[](uint64_t key) {
    if (used_ * 2 >= slots_.size()) grow();
    Slot& slot = find(slots_, key);
    if (slot.key == 0) slot.key = key, ++used_;
    return slot.value;
  }
  size_t size() const { return used_; }

 private:
  struct Slot {
    uint64_t key = 0, value = 0;
  };
  static Slot& find(std::vector<Slot>& slots, uint64_t key) {
    size_t at = key & (slots.size() - 1);
    while (slots[at].key != 0 && slots[at].key != key) at = (at + 1) & (slots.size() - 1);
    return slots[at];
  }
  void grow() {
    std::vector<Slot> more(2 * slots_.size());
    for (const Slot& slot : slots_)
      if (slot.key != 0) find(more, slot.key) = slot;
    slots_.swap(more);
  }
  std::vector<Slot> slots_{1U << 16U};
  size_t used_ = 0;
};

uint64_t hash(std::string_view text, uint64_t seed = 0) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed) | 1U;
}

uint64_t number(std::string_view digits) {
  uint64_t value = 0;
  for (const char c : digits) value = 10 * value + static_cast<uint64_t>(c - '0');
  return value;
}

template <class Take>
void each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t blank = line.rfind(' ');
    take(line.substr(0, blank), number(line.substr(blank + 1)));
  }
}

size_t distinct_lines(std::string_view text) {
  Table table;
  each_line(text, [&](std::string_view stack, uint64_t value) { table[hash(stack)] += value; });
  return table.size();
}

size_t distinct_frames(std::string_view text) {
  Table table;
  each_line(text, [&](std::string_view stack, uint64_t value) {
    uint64_t node = 0;
    uint64_t* sum = nullptr;
    while (true) {
      const std::string_view name = stack.substr(0, stack.find(';'));
      node = hash(name, node);
      sum = &table[node];
      if (name.size() == stack.size()) break;
      stack.remove_prefix(name.size() + 1);
    }
    *sum += value;
  });
  return table.size();
}

size_t newlines(std::string_view text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: folded_floor newlines|lines|trie FILE\n", stderr), 2;
  const std::string what = argv[1];
  const std::string_view text = mapped(argv[2]);
  if (text.empty()) return std::perror(argv[2]), 1;
  const size_t found = what == "newlines" ? newlines(text)
                       : what == "lines"  ? distinct_lines(text)
                                          : distinct_frames(text);
  std::printf("%zu\n", found);
  return 0;
}
