// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The probe of kernel memory: which kernel stacks hold slab objects, pages, per-CPU memory and
// vmalloc areas that were allocated and not freed.
//
// Programs run inside the kernel's allocators, also in interrupts, so nothing here may allocate:
// all tables are preallocated, and user space has made the few notes that stand for lost stacks.
// The kernel itself skips a program that would interrupt itself; it counts that, and the count is
// reported.
//
// An allocation is announced after the memory was taken and a free before it is given back, so an
// address that another CPU gets in between is never mistaken.
#include "../bpf/kernel_structs.h"
#include "../bpf/shared.h"
#include "config.h"

const volatile struct kernel_config own SEC(".rodata.own") = {};

struct probe_state {
  u32 none;
};

#include "../bpf/account.h"
#include "../bpf/capture.h"
ALWAYS_INLINE void after_exec(u32 space, struct mm_struct* mm) {}
ALWAYS_INLINE void after_fork(u32 space, u32 parent_space) {}
ALWAYS_INLINE void before_thread_exit(u32 space) {}
#include "../bpf/lifecycle.h"

enum { live, live_count, total, total_count };
enum { page_size = 4096, max_order = 10, largest_class = 8192, migrate_movable = 1 };
enum { zero_size_pointer = 16 };  // what kmalloc(0) gives; NULL means failure

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1 << 16);  // user space sets it before load
  __type(key, struct block_key);
  __type(value, struct block);
} blocks SEC(".maps");

// Slab caches that were met, by address. After a cache is destroyed, another one may get its
// address.
struct cache {
  u64 name;  // address
  u32 size;
  u32 number;  // in cache_names
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, max_caches);
  __type(key, u64);
  __type(value, struct cache);
} caches SEC(".maps");

struct cache_name {
  char text[cache_name_length];
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, max_caches);
  __type(key, u32);
  __type(value, struct cache_name);
} cache_names SEC(".maps");

// How many of them are in use.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, u32);
} cache_count SEC(".maps");

// Frees that no tracepoint reported, by kernel_leaf. Where there are many, the live figures are
// doubtful.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1 << 16);
  __type(key, u32);
  __type(value, u32);
} unseen SEC(".maps");

ALWAYS_INLINE int is_ours(void) {
  if (!own.any_task) return current_process() != 0;
  return globals.armed && bpf_get_current_pid_tgid() >> 32 != config.self;
}

// Whether this is an allocation, and ours.
ALWAYS_INLINE int is_allocation(u64 address) { return address > zero_size_pointer && is_ours(); }

ALWAYS_INLINE int size_counts(u64 size) {
  if (size >= config.min_size && size <= config.max_size) return 1;
  COUNT(passed_over, 1);
  return 0;
}

ALWAYS_INLINE int is_wanted(u64 address, u64 size) {
  return is_allocation(address) && size_counts(size);
}

// Numbers a cache that is met for the first time. Its name is stored before others can find the
// number.
__attribute__((noinline)) u32 name_cache(u64 address, u64 name, u32 size) {
  u32 zero = 0;
  u32* count = bpf_map_lookup_elem(&cache_count, &zero);
  if (!count || *count >= max_caches - 1) return 0;
  struct cache cache = {.name = name, .size = size};
  cache.number = __sync_fetch_and_add(count, 1) + 1;
  struct cache_name* text = bpf_map_lookup_elem(&cache_names, &cache.number);
  if (!text) return 0;
  bpf_probe_read_kernel_str(text->text, sizeof(text->text), (void*)name);
  bpf_map_update_elem(&caches, &address, &cache, BPF_ANY);
  return cache.number;
}

ALWAYS_INLINE u32 number_of(struct kmem_cache* slab_cache, u32 size) {
  u64 address = (u64)slab_cache, name = (u64)BPF_CORE_READ(slab_cache, name);
  struct cache* known = bpf_map_lookup_elem(&caches, &address);
  if (known && known->name == name && known->size == size) return known->number;
  return name_cache(address, name, size);
}

// Takes the kernel's stack. It belongs to no process, so equal stacks of two processes are one.
ALWAYS_INLINE u64 capture_kernel(void* ctx, u32 leaf) {
  u32 number = claim_scratch();
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return note_key(0, note_no_state);
  struct stack_record* stack = &scratch->stack;
  stack->space = 0;
  stack->kernel_frames = 0;
  stack->frames = 0;
  stack->stop = stop_end;
  stack->leaf = leaf;
  u64 hash = mix(0, leaf);
  long bytes = bpf_get_stack(ctx, stack->pcs, max_kernel_frames * sizeof(u64),
                             config.kernel_skip & BPF_F_SKIP_FIELD_MASK);
  if (bytes > 0) stack->kernel_frames = (u64)bytes / sizeof(u64);
  for (int i = 0; i < max_kernel_frames && i < stack->kernel_frames; ++i)
    hash = mix(hash, stack->pcs[i]);
  hash = stack_key(hash);
  u64 key = bpf_map_lookup_elem(&sums, &hash) ? hash : announce(number, hash);
  scratch->busy = 0;
  return key;
}

ALWAYS_INLINE struct sum* kernel_sum(u64 key) {
  return key >> 63 ? bpf_map_lookup_elem(&sums, &key) : bpf_map_lookup_elem(&notes, &key);
}

ALWAYS_INLINE void add_live(u64 key, s64 bytes, s64 count) {
  struct sum* sum = kernel_sum(key);
  if (!sum) return;
  __sync_fetch_and_add(&sum->value[live], (u64)bytes);
  __sync_fetch_and_add(&sum->value[live_count], (u64)count);
}

ALWAYS_INLINE int taken(struct block_key* key, struct block* block) {
  struct block* found = bpf_map_lookup_elem(&blocks, key);
  if (!found) return 0;
  *block = *found;
  return (int)bpf_map_delete_elem(&blocks, key) == 0;
}

ALWAYS_INLINE void free_unseen(struct block_key* key) {
  struct block old;
  if (!taken(key, &old)) return;
  add_live(old.hash, -(s64)old.size, -1);
  COUNT(unseen_frees, 1);
  COUNT(unseen_free_bytes, old.size);
  u32* count = bpf_map_lookup_elem(&unseen, &old.function);
  if (count) __sync_fetch_and_add(count, 1);
}

// Puts a block into the live table; false if there is no room. An address that is allocated again
// was freed without a tracepoint: in bulk, by RCU, or while a program could not run.
__attribute__((noinline)) int put(u64 address, u32 kind, u32 leaf, u64 size, u64 hash) {
  struct block_key key = {.address = address, .space = kind};
  struct block block = {.hash = hash,
                        .size = size,
                        .weight = size,
                        .time_ns = bpf_ktime_get_ns(),
                        .count = 1,
                        .function = leaf};
  int error = bpf_map_update_elem(&blocks, &key, &block, BPF_NOEXIST);
  if (error == exists) {
    free_unseen(&key);
    error = bpf_map_update_elem(&blocks, &key, &block, BPF_NOEXIST);
  }
  if (!error) return 1;
  COUNT(live_full_events, 1);
  COUNT(live_full_bytes, size);
  add_live(note_key(0, note_live_table_full), size, 1);
  return 0;
}

ALWAYS_INLINE void allocated(void* ctx, u64 address, u32 kind, u64 size, u32 leaf) {
  u64 hash = capture_kernel(ctx, leaf);
  COUNT(events, 1);
  COUNT(amount, size);
  count_lost_stack(hash, size);
  u64 kept = put(address, kind, leaf, size, hash);
  struct sum* sum = kernel_sum(hash);
  if (!sum) return;
  __sync_fetch_and_add(&sum->value[total], size);
  __sync_fetch_and_add(&sum->value[total_count], 1);
  if (!kept) return;
  __sync_fetch_and_add(&sum->value[live], size);
  __sync_fetch_and_add(&sum->value[live_count], 1);
}

// Any task may free, so an unknown free is a miss only if everything is watched.
ALWAYS_INLINE int all_is_watched(void) {
  return own.any_task && !config.min_size && config.max_size == ~0ULL;
}

ALWAYS_INLINE void count_free(u64 bytes, int found) {
  if (!found && !all_is_watched()) return;
  if (found) {
    COUNT(freed, 1);
    COUNT(freed_bytes, bytes);
  } else {
    COUNT(free_misses, 1);
  }
}

ALWAYS_INLINE void released(u64 address, u32 kind) {
  struct block_key key = {.address = address, .space = kind};
  struct block block = {};
  if (!globals.armed || address <= zero_size_pointer) return;
  int found = taken(&key, &block);
  count_free(block.size, found);
  if (found) add_live(block.hash, -(s64)block.size, -1);
}

ALWAYS_INLINE u32 order_of(u64 bytes) {
  u32 order = 0;
  for (u32 i = 0; i < 20; ++i)
    if ((u64)page_size << i < bytes) order = i + 1;
  return order;
}

// args: caller, pointer, bytes asked for, bytes given, flags, node.
SEC("raw_tp/kmalloc")
int memflame_kmalloc(struct bpf_raw_tracepoint_args* ctx) {
  u64 given = ctx->args[3], size = own.requested ? ctx->args[2] : given;
  if (!is_wanted(ctx->args[1], size)) return 0;
  u32 leaf = given <= largest_class ? leaf_kmalloc | given / 8 : leaf_large | order_of(given);
  allocated(ctx, ctx->args[1], kernel_slab, size, leaf);
  return 0;
}

// args: caller, pointer.
SEC("raw_tp/kfree")
int memflame_kfree(struct bpf_raw_tracepoint_args* ctx) {
  released(ctx->args[1], kernel_slab);
  return 0;
}

// args: caller, pointer, cache, flags, node.
SEC("raw_tp/kmem_cache_alloc")
int memflame_cache_alloc(struct bpf_raw_tracepoint_args* ctx) {
  struct kmem_cache* cache = (void*)ctx->args[2];
  if (!is_allocation(ctx->args[1])) return 0;
  u32 given = BPF_CORE_READ(cache, size);
  u64 size = own.requested ? BPF_CORE_READ(cache, object_size) : given;
  if (!size_counts(size)) return 0;
  u32 leaf = leaf_cache | (number_of(cache, given) & leaf_which);
  allocated(ctx, ctx->args[1], kernel_slab, size, leaf);
  return 0;
}

// args: caller, pointer, cache.
SEC("raw_tp/kmem_cache_free")
int memflame_cache_free(struct bpf_raw_tracepoint_args* ctx) {
  released(ctx->args[1], kernel_slab);
  return 0;
}

// args: page, order, flags, kind of mobility.
SEC("raw_tp/mm_page_alloc")
int memflame_page_alloc(struct bpf_raw_tracepoint_args* ctx) {
  u32 order = ctx->args[1], movable = (u32)ctx->args[3] == migrate_movable;
  if (order > max_order || (movable && own.no_movable)) return 0;
  u64 size = (u64)page_size << order;
  if (!is_wanted(ctx->args[0], size)) return 0;
  u32 leaf = (movable ? leaf_movable : leaf_pages) | order;
  allocated(ctx, ctx->args[0], kernel_pages, size, leaf);
  return 0;
}

// The distance of two neighbouring page structures. It is a power of two, and their array begins at
// a multiple of 1 GiB, so the first page of a block is found from any other.
ALWAYS_INLINE u64 page_step(void) { return bpf_core_type_size(struct page); }

// Takes 2^order pages at `page` out of the larger block at `head`. The rest of it becomes blocks of
// smaller orders.
__attribute__((noinline)) int release_part(u64 head, u64 page, u32 order) {
  struct block_key key = {.address = head, .space = kernel_pages};
  struct block block;
  if (!taken(&key, &block)) return 0;
  u32 has = block.function & leaf_which, kind = block.function & ~leaf_which;
  add_live(block.hash, -(s64)block.size, -1);
  for (u32 i = 0; i < max_order; ++i) {
    if (has <= order || has > max_order) break;
    --has;
    u64 upper = head + (page_step() << has);
    u64 size = (u64)page_size << has;
    if (put(page < upper ? upper : head, kernel_pages, kind | has, size, block.hash))
      add_live(block.hash, size, 1);
    if (page >= upper) head = upper;
  }
  count_free((u64)page_size << order, 1);
  return 1;
}

// args: page, order. Pages that were allocated together can be freed in parts.
SEC("raw_tp/mm_page_free")
int memflame_page_free(struct bpf_raw_tracepoint_args* ctx) {
  u64 page = ctx->args[0];
  u32 order = ctx->args[1];
  struct block_key key = {.address = page, .space = kernel_pages};
  if (!globals.armed || order > max_order) return 0;
  struct block* found = bpf_map_lookup_elem(&blocks, &key);
  if (found && (found->function & leaf_which) > order) return release_part(page, page, order);
  if (found) {
    released(page, kernel_pages);
    return 0;
  }
  for (u32 above = 1; above <= max_order; ++above) {
    u64 head = page & ~((page_step() << above) - 1);
    if (above <= order || head == key.address) continue;
    key.address = head;
    found = bpf_map_lookup_elem(&blocks, &key);
    if (!found) continue;
    if ((found->function & leaf_which) >= above) return release_part(head, page, order);
    break;
  }
  count_free(0, 0);
  return 0;
}

// args: caller, reserved, atomic, size, alignment, base, offset, pointer, bytes on all CPUs, flags.
SEC("raw_tp/percpu_alloc_percpu")
int memflame_percpu_alloc(struct bpf_raw_tracepoint_args* ctx) {
  u64 size = own.requested ? ctx->args[3] * config.cpus : ctx->args[8];
  if (!is_wanted(ctx->args[7], size)) return 0;
  allocated(ctx, ctx->args[7], kernel_percpu, size, leaf_percpu);
  return 0;
}

// args: base, offset, pointer.
SEC("raw_tp/percpu_free_percpu")
int memflame_percpu_free(struct bpf_raw_tracepoint_args* ctx) {
  released(ctx->args[2], kernel_percpu);
  return 0;
}

// args: address, size, alignment, start, end, failed. Each area has an unused page behind it.
SEC("raw_tp/alloc_vmap_area")
int memflame_vmalloc(struct bpf_raw_tracepoint_args* ctx) {
  u64 size = ctx->args[1];
  if (size > page_size) size -= page_size;
  if ((u32)ctx->args[5] || !is_wanted(ctx->args[0], size)) return 0;
  allocated(ctx, ctx->args[0], kernel_vmalloc, size, leaf_vmalloc);
  return 0;
}

// args: address, pages waiting to be given back, and how many may.
SEC("raw_tp/free_vmap_area_noflush")
int memflame_vfree(struct bpf_raw_tracepoint_args* ctx) {
  released(ctx->args[0], kernel_vmalloc);
  return 0;
}
