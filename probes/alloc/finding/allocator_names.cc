// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/allocator_names.h"

#include <array>

namespace memflame {
namespace {

using bpf::call_shape;

constexpr unsigned malloc_family = bpf::family_malloc;
constexpr unsigned any_family = 0;

// Arguments by number; see call_shape.
struct Arguments {
  unsigned size = 0, count = 0, block = 0, out = 0, pool = 0, align = 0;
};

constexpr call_shape shape(bpf::call_action action, const Arguments& arguments, unsigned family) {
  call_shape made{};
  made.action = static_cast<bpf::u64>(action) & 7;
  made.family = family & 7;
  made.size = arguments.size & 7;
  made.count = arguments.count & 7;
  made.block = arguments.block & 7;
  made.out = arguments.out & 7;
  made.pool = arguments.pool & 7;
  made.align = arguments.align & 7;
  return made;
}

constexpr AllocatorFunction giver(std::string_view name, const Arguments& arguments,
                                  unsigned family = malloc_family) {
  return {name, shape(bpf::action_allocate, arguments, family)};
}
constexpr AllocatorFunction aligned(std::string_view name, const Arguments& arguments,
                                    unsigned family = malloc_family) {
  return {name, shape(bpf::action_allocate, arguments, family), false, true};
}
constexpr AllocatorFunction throws(AllocatorFunction function) {
  function.throws = true;
  return function;
}
constexpr AllocatorFunction taker(std::string_view name, unsigned family = malloc_family) {
  return {name, shape(bpf::action_free, {.block = 1}, family)};
}

// These names occur with any prefix. A reallocf() that fails frees its block, which is not seen.
constexpr std::array any_prefix{
    giver("malloc", {.size = 1}),
    giver("calloc", {.size = 2, .count = 1}),
    giver("realloc", {.size = 2, .block = 1}),
    giver("reallocarray", {.size = 3, .count = 2, .block = 1}),
    giver("reallocf", {.size = 2, .block = 1}),
    aligned("memalign", {.size = 2, .align = 1}),
    aligned("aligned_alloc", {.size = 2, .align = 1}),
    aligned("posix_memalign", {.size = 3, .out = 1, .align = 2}),
    aligned("valloc", {.size = 1, .align = bpf::aligned_to_page}),
    aligned("pvalloc", {.size = 1, .align = bpf::aligned_to_page}),
    taker("free"),
    taker("cfree"),
    taker("free_sized"),
    taker("free_aligned_sized"),
    // jemalloc. xallocx() is left out: it returns no address, so a block it resizes keeps its old
    // size here.
    aligned("mallocx", {.size = 1, .align = 2}),
    aligned("rallocx", {.size = 2, .block = 1, .align = 3}),
    taker("dallocx"),
    taker("sdallocx"),
};

constexpr unsigned new_family = bpf::family_new;
constexpr unsigned array_family = bpf::family_new_array;

constexpr std::array operators{
    throws(giver("_Znwm", {.size = 1}, new_family)),
    throws(giver("_Znam", {.size = 1}, array_family)),
    giver("_ZnwmRKSt9nothrow_t", {.size = 1}, new_family),
    giver("_ZnamRKSt9nothrow_t", {.size = 1}, array_family),
    throws(aligned("_ZnwmSt11align_val_t", {.size = 1, .align = 2}, new_family)),
    throws(aligned("_ZnamSt11align_val_t", {.size = 1, .align = 2}, array_family)),
    aligned("_ZnwmSt11align_val_tRKSt9nothrow_t", {.size = 1, .align = 2}, new_family),
    aligned("_ZnamSt11align_val_tRKSt9nothrow_t", {.size = 1, .align = 2}, array_family),
    taker("_ZdlPv", new_family),
    taker("_ZdaPv", array_family),
    taker("_ZdlPvm", new_family),
    taker("_ZdaPvm", array_family),
    taker("_ZdlPvRKSt9nothrow_t", new_family),
    taker("_ZdaPvRKSt9nothrow_t", array_family),
    taker("_ZdlPvSt11align_val_t", new_family),
    taker("_ZdaPvSt11align_val_t", array_family),
    taker("_ZdlPvmSt11align_val_t", new_family),
    taker("_ZdaPvmSt11align_val_t", array_family),
    taker("_ZdlPvSt11align_val_tRKSt9nothrow_t", new_family),
    taker("_ZdaPvSt11align_val_tRKSt9nothrow_t", array_family),
};

// C functions of gperftools that implement operator new and delete.
constexpr std::array tcmalloc{
    giver("malloc_skip_new_handler", {.size = 1}),
    throws(giver("new", {.size = 1}, new_family)),
    throws(giver("newarray", {.size = 1}, array_family)),
    giver("new_nothrow", {.size = 1}, new_family),
    giver("newarray_nothrow", {.size = 1}, array_family),
    throws(aligned("new_aligned", {.size = 1}, new_family)),
    throws(aligned("newarray_aligned", {.size = 1}, array_family)),
    aligned("new_aligned_nothrow", {.size = 1}, new_family),
    aligned("newarray_aligned_nothrow", {.size = 1}, array_family),
    taker("delete", new_family),
    taker("deletearray", array_family),
    taker("delete_sized", new_family),
    taker("deletearray_sized", array_family),
    taker("delete_nothrow", new_family),
    taker("deletearray_nothrow", array_family),
    taker("delete_aligned", new_family),
    taker("deletearray_aligned", array_family),
    taker("delete_sized_aligned", new_family),
    taker("deletearray_sized_aligned", array_family),
    taker("delete_aligned_nothrow", new_family),
    taker("deletearray_aligned_nothrow", array_family),
};

constexpr std::array mimalloc{
    giver("zalloc", {.size = 1}),
    giver("malloc_small", {.size = 1}),
    giver("zalloc_small", {.size = 1}),
    giver("mallocn", {.size = 2, .count = 1}),
    giver("reallocn", {.size = 3, .count = 2, .block = 1}),
    giver("rezalloc", {.size = 2, .block = 1}),
    giver("recalloc", {.size = 3, .count = 2, .block = 1}),
    giver("expand", {.size = 2, .block = 1}),
    aligned("malloc_aligned", {.size = 1}),
    aligned("malloc_aligned_at", {.size = 1}),
    aligned("zalloc_aligned", {.size = 1}),
    aligned("zalloc_aligned_at", {.size = 1}),
    aligned("calloc_aligned", {.size = 2, .count = 1}),
    aligned("calloc_aligned_at", {.size = 2, .count = 1}),
    aligned("realloc_aligned", {.size = 2, .block = 1}),
    aligned("realloc_aligned_at", {.size = 2, .block = 1}),
    aligned("rezalloc_aligned", {.size = 2, .block = 1}),
    aligned("rezalloc_aligned_at", {.size = 2, .block = 1}),
    aligned("recalloc_aligned", {.size = 3, .count = 2, .block = 1}),
    aligned("recalloc_aligned_at", {.size = 3, .count = 2, .block = 1}),
    aligned("aligned_recalloc", {.size = 3, .count = 2, .block = 1}),
    aligned("aligned_offset_recalloc", {.size = 3, .count = 2, .block = 1}),
    throws(giver("new", {.size = 1}, any_family)),
    throws(giver("new_n", {.size = 2, .count = 1}, any_family)),
    throws(giver("new_realloc", {.size = 2, .block = 1}, any_family)),
    throws(giver("new_reallocn", {.size = 3, .count = 2, .block = 1}, any_family)),
    giver("new_nothrow", {.size = 1}, any_family),
    throws(aligned("new_aligned", {.size = 1}, any_family)),
    aligned("new_aligned_nothrow", {.size = 1}, any_family),
    taker("free_size"),
    taker("free_aligned"),
    taker("free_size_aligned"),
    giver("heap_malloc", {.size = 2, .pool = 1}),
    giver("heap_zalloc", {.size = 2, .pool = 1}),
    giver("heap_malloc_small", {.size = 2, .pool = 1}),
    giver("heap_calloc", {.size = 3, .count = 2, .pool = 1}),
    giver("heap_mallocn", {.size = 3, .count = 2, .pool = 1}),
    giver("heap_realloc", {.size = 3, .block = 2, .pool = 1}),
    giver("heap_reallocn", {.size = 4, .count = 3, .block = 2, .pool = 1}),
    giver("heap_reallocf", {.size = 3, .block = 2, .pool = 1}),
    giver("heap_rezalloc", {.size = 3, .block = 2, .pool = 1}),
    giver("heap_recalloc", {.size = 4, .count = 3, .block = 2, .pool = 1}),
    aligned("heap_malloc_aligned", {.size = 2, .pool = 1}),
    aligned("heap_malloc_aligned_at", {.size = 2, .pool = 1}),
    aligned("heap_zalloc_aligned", {.size = 2, .pool = 1}),
    aligned("heap_zalloc_aligned_at", {.size = 2, .pool = 1}),
    aligned("heap_calloc_aligned", {.size = 3, .count = 2, .pool = 1}),
    aligned("heap_calloc_aligned_at", {.size = 3, .count = 2, .pool = 1}),
    aligned("heap_realloc_aligned", {.size = 3, .block = 2, .pool = 1}),
    aligned("heap_realloc_aligned_at", {.size = 3, .block = 2, .pool = 1}),
    aligned("heap_rezalloc_aligned", {.size = 3, .block = 2, .pool = 1}),
    aligned("heap_rezalloc_aligned_at", {.size = 3, .block = 2, .pool = 1}),
    aligned("heap_recalloc_aligned", {.size = 4, .count = 3, .block = 2, .pool = 1}),
    aligned("heap_recalloc_aligned_at", {.size = 4, .count = 3, .block = 2, .pool = 1}),
    throws(giver("heap_alloc_new", {.size = 2, .pool = 1}, any_family)),
    throws(giver("heap_alloc_new_n", {.size = 3, .count = 2, .pool = 1}, any_family)),
    AllocatorFunction{"heap_destroy", shape(bpf::action_free, {.pool = 1}, malloc_family)},
};

constexpr std::array tbb{
    aligned("aligned_malloc", {.size = 1}),
    aligned("aligned_realloc", {.size = 2, .block = 1}),
    taker("aligned_free"),
};

constexpr std::array rpmalloc{
    giver("zalloc", {.size = 1}),
    aligned("aligned_alloc", {.size = 2}),
    aligned("aligned_zalloc", {.size = 2}),
    aligned("aligned_calloc", {.size = 3, .count = 2}),
    aligned("aligned_realloc", {.size = 3, .block = 1}),
};

struct Prefix {
  std::string_view text;
  std::string_view allocator;
  std::span<const AllocatorFunction> more = {};
};

constexpr std::array prefixes{
    Prefix{"", "", operators},
    Prefix{"je_", "jemalloc"},
    Prefix{"_rjem_", "jemalloc"},
    Prefix{"_rjem_je_", "jemalloc"},
    Prefix{"tc_", "tcmalloc", tcmalloc},
    Prefix{"mi_", "mimalloc", mimalloc},
    Prefix{"scalable_", "tbbmalloc", tbb},
    Prefix{"rp", "rpmalloc", rpmalloc},
    // Aliases in glibc and its replacements: __libc_malloc is malloc.
    Prefix{"__libc_", ""},
};

void add(std::vector<NamedFunction>& all, std::string_view prefix, uint32_t group,
         std::span<const AllocatorFunction> functions) {
  for (const AllocatorFunction& function : functions)
    all.push_back({std::string(prefix) + std::string(function.name), group, function});
}

}  // namespace

std::vector<NamedFunction> allocator_functions(const std::string& symbols_prefix) {
  std::vector<NamedFunction> all;
  for (uint32_t i = 0; i < prefixes.size(); ++i) {
    const uint32_t group = prefixes[i].allocator.empty() ? 0 : i;
    add(all, prefixes[i].text, group, any_prefix);
    add(all, prefixes[i].text, group, prefixes[i].more);
  }
  if (!symbols_prefix.empty()) {
    add(all, symbols_prefix, prefixes.size(), any_prefix);
    // The prefix does not tell the allocator: several may have been built with it.
    for (const Prefix& prefix : prefixes)
      if (prefix.text.empty() || prefix.allocator != "rpmalloc")
        add(all, symbols_prefix, prefixes.size(), prefix.more);
  }
  return all;
}

std::span<const std::string_view> own_functions() {
  // glibc, malloc/arena.c and malloc/malloc.c: they free what a thread's cache still holds when the
  // thread ends.
  static constexpr std::array<std::string_view, 2> names{"__malloc_arena_thread_freeres",
                                                         "tcache_thread_shutdown"};
  return names;
}

const std::vector<AllocatorMark>& allocator_marks() {
  // The most specific marks come first, because allocators also define functions of the libc that
  // they replace.
  static const std::vector<AllocatorMark> marks{
      {"mi_version", "mimalloc"},
      {"mi_malloc", "mimalloc"},
      {"tc_malloc", "tcmalloc"},
      {"TCMallocInternalMalloc", "tcmalloc"},
      {"MallocExtension_ReleaseFreeMemory", "tcmalloc"},
      {"mallocx", "jemalloc"},
      {"je_mallocx", "jemalloc"},
      {"__TBB_malloc_proxy", "tbbmalloc"},
      {"scalable_malloc", "tbbmalloc"},
      {"rpmalloc_initialize", "rpmalloc"},
      {"gnu_get_libc_version", "glibc"},
      {"__libc_mallopt", "glibc"},
      {"__libc_memalign", "glibc"},
      {"__libc_malloc_impl", "musl"},
      {"__dls2b", "musl"},
      {"__libc_start_main", "musl"},  // glibc defines it too, but its marks come first
  };
  return marks;
}

std::string_view allocator_of_group(uint32_t group) {
  return group < prefixes.size() ? prefixes[group].allocator : "";
}

}  // namespace memflame
