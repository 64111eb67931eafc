// SPDX-License-Identifier: BSD-2-Clause
// An allocator for test programs: memory from one reserve, never reused. Compiled under several
// names: BUMP(malloc) is je_malloc, _rjem_malloc or malloc itself. It forgives: a block freed
// twice, or never allocated, is left alone. As in real allocators some functions go through others,
// by calls and by jumps.
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __clang__  // jemalloc in Rust programs has names that begin with "_"
#pragma clang diagnostic ignored "-Wreserved-identifier"
#endif

#ifndef BUMP_PREFIX
#define BUMP(name) name
#else
#define BUMP_JOIN_NOW(a, b) a##b
#define BUMP_JOIN(a, b) BUMP_JOIN_NOW(a, b)
#define BUMP(name) BUMP_JOIN(BUMP_PREFIX, name)
#endif
#define BUMP_API extern "C" __attribute__((noinline, visibility(BUMP_VISIBILITY)))

namespace {

constexpr size_t reserve_size = size_t{1} << 32;  // of addresses
constexpr size_t step = size_t{1} << 20;          // by which they become memory
constexpr size_t unit = 16;
constexpr uint64_t mark = 0x6d656d666c616d65;

struct Header {  // before every block
  uint64_t mark;
  uint64_t size;
};
static_assert(sizeof(Header) == unit);

std::atomic<char*> reserve = nullptr;
std::atomic<size_t> used = 0;
std::atomic<size_t> usable = 0;

char* start_of_reserve() {
  char* start = reserve.load(std::memory_order_acquire);
  if (start != nullptr) return start;
  void* fresh =
      mmap(nullptr, reserve_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fresh == MAP_FAILED) return nullptr;
  if (reserve.compare_exchange_strong(start, static_cast<char*>(fresh)))
    return static_cast<char*>(fresh);
  munmap(fresh, reserve_size);  // another thread was first
  return start;
}

// Threads that race do it twice, which is harmless.
bool make_usable(char* start, size_t end) {
  const size_t before = usable.load();
  if (end <= before) return true;
  const size_t after = (end + step - 1) / step * step;
  if (mprotect(start + before, after - before, PROT_READ | PROT_WRITE) != 0) return false;
  for (size_t known = before; known < after && !usable.compare_exchange_weak(known, after);)
    continue;
  return true;
}

void* take(size_t size, size_t alignment) {
  char* const start = start_of_reserve();
  if (alignment < unit) alignment = unit;
  if (start == nullptr || size > reserve_size / 2 || alignment > reserve_size / 4) {
    errno = ENOMEM;
    return nullptr;
  }
  const size_t room = sizeof(Header) + alignment + (size + unit - 1) / unit * unit;
  const size_t at = used.fetch_add(room);
  if (at > reserve_size - room || !make_usable(start, at + room)) {
    errno = ENOMEM;
    return nullptr;
  }
  const auto first = reinterpret_cast<uintptr_t>(start) + at + sizeof(Header);
  char* const block =
      start + (((first + alignment - 1) & ~(alignment - 1)) - reinterpret_cast<uintptr_t>(start));
  const Header header{mark, size};
  std::memcpy(block - sizeof header, &header, sizeof header);
  return block;
}

// The header of a block that this allocator gave out and did not take back, else nothing.
Header* header_of(void* block) {
  char* const start = reserve.load(std::memory_order_acquire);
  char* const at = static_cast<char*>(block);
  if (start == nullptr || at < start + sizeof(Header) || at >= start + used.load()) return nullptr;
  if (reinterpret_cast<uintptr_t>(at) % unit != 0) return nullptr;
  auto* header = reinterpret_cast<Header*>(at - sizeof(Header));
  return header->mark == mark ? header : nullptr;
}

void give_back(void* block) {
  if (Header* header = header_of(block)) header->mark = 0;
}

bool is_power_of_two(size_t n) { return n != 0 && (n & (n - 1)) == 0; }

}  // namespace

BUMP_API void* BUMP(malloc)(size_t size) { return take(size, unit); }
BUMP_API void BUMP(free)(void* block) { give_back(block); }

BUMP_API void* BUMP(calloc)(size_t count, size_t each) {
  size_t size = 0;
  if (__builtin_mul_overflow(count, each, &size)) return nullptr;
  void* const block = BUMP(malloc)(size);  // fresh memory is zero
  if (block == nullptr) errno = ENOMEM;
  return block;
}

BUMP_API void* BUMP(realloc)(void* old, size_t size) {
  if (old == nullptr) return BUMP(malloc)(size);
  const Header* header = header_of(old);
  if (header == nullptr) return nullptr;
  if (size == 0) {
    BUMP(free)(old);
    return nullptr;
  }
  void* const block = BUMP(malloc)(size);
  if (block == nullptr) return nullptr;
  std::memcpy(block, old, header->size < size ? header->size : size);
  BUMP(free)(old);
  return block;
}

BUMP_API void* BUMP(memalign)(size_t alignment, size_t size) {
  if (is_power_of_two(alignment)) return take(size, alignment);
  errno = EINVAL;
  return nullptr;
}
BUMP_API void* BUMP(aligned_alloc)(size_t alignment, size_t size) {
  return BUMP(memalign)(alignment, size);
}
BUMP_API int BUMP(posix_memalign)(void** out, size_t alignment, size_t size) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* const block = BUMP(aligned_alloc)(alignment, size);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
BUMP_API void* BUMP(valloc)(size_t size) { return BUMP(memalign)(4096, size); }
BUMP_API void* BUMP(pvalloc)(size_t size) {
  return BUMP(memalign)(4096, (size + 4095) / 4096 * 4096);
}

BUMP_API size_t BUMP(malloc_usable_size)(void* block) {
  const Header* header = header_of(block);
  return header == nullptr ? 0 : (header->size + unit - 1) / unit * unit;
}

// C23's, and one older than C.
BUMP_API void BUMP(free_sized)(void* block, size_t) { BUMP(free)(block); }
BUMP_API void BUMP(free_aligned_sized)(void* block, size_t, size_t) { give_back(block); }
BUMP_API void BUMP(cfree)(void* block) { give_back(block); }

// jemalloc's own interface, which the allocators of other languages use.
BUMP_API void* BUMP(mallocx)(size_t size, int flags) {
  return take(size, size_t{1} << (flags & 63));  // the logarithm of the alignment
}
BUMP_API void BUMP(dallocx)(void* block, int) { give_back(block); }
BUMP_API void BUMP(sdallocx)(void* block, size_t, int flags) { BUMP(dallocx)(block, flags); }
BUMP_API void* BUMP(rallocx)(void* old, size_t size, int flags) {
  const Header* header = header_of(old);
  void* const block = header == nullptr ? nullptr : BUMP(mallocx)(size, flags);
  if (block == nullptr) return nullptr;
  std::memcpy(block, old, header->size < size ? header->size : size);
  give_back(old);
  return block;
}
