// SPDX-License-Identifier: BSD-2-Clause
#include "probes/kernel/kernel_code.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace memflame {
namespace {

struct Row {
  std::string_view name;
  MemoryUser user;
};

// Functions of mm/slub.c, mm/percpu*.c and mm/vmalloc.c that get pages for these allocators: no
// other user of pages lies between them and the page allocator. Which of them are inlined differs
// between kernels, and names got "_noprof" in 6.10.
constexpr std::array rows{
    Row{"allocate_slab", MemoryUser::slab},
    Row{"alloc_slab_page", MemoryUser::slab},
    Row{"new_slab", MemoryUser::slab},
    Row{"___slab_alloc", MemoryUser::slab},
    Row{"___kmalloc_large_node", MemoryUser::slab},
    Row{"__kmalloc_large_node", MemoryUser::slab},
    Row{"kmalloc_large", MemoryUser::slab},
    Row{"pcpu_populate_chunk", MemoryUser::percpu},
    Row{"pcpu_create_chunk", MemoryUser::percpu},
    Row{"pcpu_alloc_pages", MemoryUser::percpu},
    Row{"pcpu_alloc", MemoryUser::percpu},
    Row{"pcpu_balance_workfn", MemoryUser::percpu},
    Row{"__vmalloc_node_range", MemoryUser::vmalloc},
    Row{"__vmalloc_area_node", MemoryUser::vmalloc},
    Row{"vm_area_alloc_pages", MemoryUser::vmalloc},
};

// The name without what compilers and later kernels add: "f.isra.0", "f.cold", "f_noprof".
std::string_view plain(std::string_view name) {
  name = name.substr(0, name.find('.'));
  constexpr std::string_view added = "_noprof";
  if (name.ends_with(added)) name.remove_suffix(added.size());
  return name;
}

MemoryUser user_named(std::string_view name) {
  const std::string_view wanted = plain(name);
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& each) { return each.name == wanted; });
  return row == rows.end() ? MemoryUser::other : row->user;
}

}  // namespace

KernelCode::KernelCode(std::string_view kallsyms) {
  std::vector<uint64_t> starts;
  while (!kallsyms.empty()) {
    const std::string_view line = kallsyms.substr(0, kallsyms.find('\n'));
    kallsyms.remove_prefix(std::min(line.size() + 1, kallsyms.size()));
    uint64_t address = 0;  // "ffffffff81000000 T name [module]"
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const auto used = static_cast<size_t>(end - line.data());
    if (error != std::errc{} || address == 0 || line.size() < used + 4) continue;
    if (line[used + 1] != 't' && line[used + 1] != 'T') continue;
    starts.push_back(address);
    const std::string_view name = line.substr(used + 3);
    const MemoryUser user = user_named(name.substr(0, name.find('\t')));
    if (user != MemoryUser::other) functions_.push_back({address, 0, user});
  }
  std::sort(starts.begin(), starts.end());
  for (Function& function : functions_) {
    const auto next = std::upper_bound(starts.begin(), starts.end(), function.start);
    function.end = next == starts.end() ? UINT64_MAX : *next;
  }
  std::sort(functions_.begin(), functions_.end(),
            [](const Function& a, const Function& b) { return a.start < b.start; });
}

MemoryUser KernelCode::user_of(std::span<const Pc> stack) const {
  for (const Pc& pc : stack) {
    auto at = std::upper_bound(functions_.begin(), functions_.end(), pc.addr - 1,
                               [](uint64_t addr, const Function& f) { return addr < f.start; });
    if (at != functions_.begin() && pc.addr - 1 < (--at)->end) return at->user;
  }
  return MemoryUser::other;
}

}  // namespace memflame
