// SPDX-License-Identifier: BSD-2-Clause
// An allocator that allocates most of its blocks in a way that no probe sees, like one whose
// malloc() is inlined into operators and pools. All frees are correct, and go through free().
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

constexpr size_t unit = 16;
constexpr size_t common = 64;  // blocks up to this size are used again, the last one first
alignas(unit) char memory[16 << 20];
size_t used = 0;

struct Block {
  size_t size;
  Block* next;
};
Block* unused = nullptr;

void* take(size_t size) {
  if (size <= common && unused != nullptr) {
    Block* const block = unused;
    unused = block->next;
    return reinterpret_cast<char*>(block) + unit;
  }
  const size_t room = size <= common ? common : (size + unit - 1) / unit * unit;
  if (room > sizeof(memory) - unit - used) return nullptr;
  auto* const block = reinterpret_cast<Block*>(memory + used);
  block->size = room;
  used += unit + room;
  return reinterpret_cast<char*>(block) + unit;
}

size_t size_of(const void* at) {
  return reinterpret_cast<const Block*>(static_cast<const char*>(at) - unit)->size;
}

}  // namespace

extern "C" {
__attribute__((noinline)) void* malloc(size_t size) { return take(size); }
__attribute__((noinline)) void free(void* at) {
  if (at == nullptr || size_of(at) != common) return;
  auto* const block = reinterpret_cast<Block*>(static_cast<char*>(at) - unit);
  block->next = unused;
  unused = block;
}
__attribute__((noinline)) void* calloc(size_t count, size_t each) {
  void* const at = malloc(count * each);
  return at == nullptr ? at : std::memset(at, 0, count * each);
}
__attribute__((noinline)) void* realloc(void* old, size_t size) {
  void* const at = malloc(size);
  if (old == nullptr || at == nullptr) return at;
  std::memcpy(at, old, size_of(old) < size ? size_of(old) : size);
  free(old);
  return at;
}
}

int main() {
  constexpr int rounds = 1000;
  void* volatile seen = nullptr;
  static void* kept[rounds];
  for (void*& block : kept) block = take(common);  // addresses that nobody has seen
  for (void* block : kept) free(block);
  for (int i = 0; i < rounds; ++i) {
    seen = malloc(common);
    free(seen);
    free(take(common));  // the same block, which no probe saw given again
  }
  return 0;
}
