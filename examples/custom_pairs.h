// SPDX-License-Identifier: BSD-2-Clause
// Allocators that no profiler knows, each with another way to return its blocks. All memory comes
// from one arena in the library, so none of it counts as another kind of allocation.
#pragma once

#include <cstddef>

#define CUSTOM_PAIR extern "C" [[gnu::visibility("default"), gnu::noinline]]

CUSTOM_PAIR void* custom_alloc(size_t size);
CUSTOM_PAIR void custom_free(void* block);

// A block of `count` objects; null if that is too much.
CUSTOM_PAIR void* custom_array(size_t count, size_t size);
CUSTOM_PAIR void* custom_array32(int count, int size);

// A status, 0 for success; otherwise *block is left as it was.
CUSTOM_PAIR int custom_create(void** block, int kind, size_t size);
CUSTOM_PAIR int custom_release(int kind, void* block);

// Like realloc: null for a size that is too large, and the old block stays. Size 0 frees.
CUSTOM_PAIR void* custom_resize(void* block, size_t size);

// Never null: throws std::bad_alloc.
CUSTOM_PAIR void* custom_throwing(size_t size);

// Ends in custom_alloc: one block, not two.
CUSTOM_PAIR void* custom_wrapped(size_t size);

struct CustomPool;
CUSTOM_PAIR void* custom_pool_alloc(CustomPool* pool, size_t size);
CUSTOM_PAIR void custom_pool_clear(CustomPool* pool);
CUSTOM_PAIR void custom_pool_destroy(CustomPool* pool);  // clears it, too

// Two different functions with one name; see custom_pairs.cc and custom_twin.cc.
CUSTOM_PAIR void* custom_call_twins(size_t size);
CUSTOM_PAIR void* custom_call_other_twin(size_t size);

extern "C" [[gnu::visibility("default")]] int custom_counter;
