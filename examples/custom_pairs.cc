// SPDX-License-Identifier: BSD-2-Clause
#include "examples/custom_pairs.h"

#include <cstdint>
#include <cstring>
#include <new>

namespace {

constexpr size_t largest = 1 << 20;

alignas(16) char arena[1 << 20];
size_t used = 0;

// No address is used again, so each belongs to one block for ever.
[[gnu::noinline]] void* take(size_t size) {
  const size_t room = (size + 31) & ~size_t{15};
  if (size > largest || room > sizeof arena - used) return nullptr;
  void* block = arena + used;
  used += room;
  return block;
}

volatile size_t released = 0;  // makes a function that frees do something

}  // namespace

extern "C" {

int custom_counter = 0;

[[gnu::noinline, gnu::used]] static void* custom_twin(size_t size) { return take(size); }

void* custom_alloc(size_t size) { return take(size); }
void custom_free(void* block) {
  if (block != nullptr) released = released + 1;
}

void* custom_array(size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) return nullptr;
  return take(count * size);
}
void* custom_array32(int count, int size) {
  return take(static_cast<size_t>(count) * static_cast<size_t>(size));
}

int custom_create(void** block, int kind, size_t size) {
  void* taken = kind < 0 ? nullptr : take(size);
  if (taken == nullptr) return 12;
  *block = taken;
  return 0;
}
int custom_release(int kind, void* block) {
  released = released + static_cast<size_t>(kind);
  return block == nullptr ? 22 : 0;
}

void* custom_resize(void* block, size_t size) {
  if (size == 0) {
    released = released + 1;
    return nullptr;
  }
  void* moved = take(size);
  if (moved != nullptr && block != nullptr) std::memcpy(moved, block, 1);
  return moved;
}

void* custom_throwing(size_t size) {
  void* block = take(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void* custom_wrapped(size_t size) {
  void* block = custom_alloc(size + 8);
  if (block != nullptr) std::memset(block, 0, 8);
  return block;
}

void* custom_pool_alloc(CustomPool* pool, size_t size) { return pool ? take(size) : nullptr; }
void custom_pool_clear(CustomPool* pool) {
  if (pool != nullptr) released = released + 1;
}
void custom_pool_destroy(CustomPool* pool) {
  custom_pool_clear(pool);
  released = released + 1;
}

void* custom_call_twins(size_t size) {
  void* block = custom_twin(size);
  return block == nullptr ? block : custom_call_other_twin(size);
}

}  // extern "C"
