// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What only kernel's programs and their user space share. Plain C.
#pragma once

#include "../bpf/shared.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

// Filled by user space before load.
struct kernel_config {
  u32 any_task;    // count allocations by any task
  u32 requested;   // sizes as asked for, not as given
  u32 no_movable;  // leave out pages the kernel may move: user memory, page cache
};

// The kinds of memory, which take the place of `space` in a block's key. The key's address is a
// pointer, or that of the first page's struct page.
enum kernel_kind {
  kernel_slab = 1,
  kernel_pages,
  kernel_percpu,
  kernel_vmalloc,
};

// What a stack ends in: the upper bits give the kind, the lower ones its number.
enum kernel_leaf {
  leaf_cache = 1 << 13,    // slab cache: number in cache_names; 0 = not known
  leaf_kmalloc = 2 << 13,  // size class / 8
  leaf_large = 3 << 13,    // kmalloc() of whole pages: order
  leaf_pages = 4 << 13,    // order
  leaf_movable = 5 << 13,  // order
  leaf_percpu = 6 << 13,
  leaf_vmalloc = 7 << 13,
  leaf_which = (1 << 13) - 1,
};
enum { max_caches = 4096, cache_name_length = 48 };

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
