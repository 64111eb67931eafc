// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/btf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/error.h"
#include "core/units.h"
#include "probes/kernel/config.h"
#include "probes/kernel/kernel_code.h"
#include "probes/kernel/leaf_name.h"
#include "probes/kernel/meminfo.h"
#include "probes/kernel/options.h"
#include "probes/kernel/slab_aliases.h"
#include "probes/loading/loaded_probe.h"
#include "probes/options/advice.h"
#include "probes/probe.h"
#include "probes/stacks/rows.h"
#include "probes/system/procfs.h"

extern "C" {
extern const std::byte memflame_kernel_object[];
extern const std::byte memflame_kernel_object_end[];
}

namespace memflame {
namespace {

constexpr std::array values{
    ProbeValue{"live", "bytes allocated since the start and not freed by the end", 0},
    ProbeValue{"live-count", "objects or blocks allocated since the start and not freed", 1},
    ProbeValue{"total", "all bytes allocated, freed or not", 2},
    ProbeValue{"total-count", "all allocations, freed or not", 3},
};

std::vector<ValueType> types(const ProbeOptions&, bool) {
  return {{"live", Unit::bytes},
          {"live-count", Unit::count},
          {"total", Unit::bytes},
          {"total-count", Unit::count}};
}

using Kind = KernelKind;

Kind kind_of(const ProbeOptions& options) { return own_options<KernelOptions>(options).kind(); }

// What is attached for a kind of memory, frees before allocations.
struct Tracepoint {
  Kind kind;
  const char* program;
  const char* name;
};
constexpr std::array tracepoints{
    Tracepoint{Kind::slab, "memflame_kfree", "kfree"},
    Tracepoint{Kind::slab, "memflame_cache_free", "kmem_cache_free"},
    Tracepoint{Kind::slab, "memflame_kmalloc", "kmalloc"},
    Tracepoint{Kind::slab, "memflame_cache_alloc", "kmem_cache_alloc"},
    Tracepoint{Kind::pages, "memflame_page_free", "mm_page_free"},
    Tracepoint{Kind::pages, "memflame_page_alloc", "mm_page_alloc"},
    Tracepoint{Kind::percpu, "memflame_percpu_free", "percpu_free_percpu"},
    Tracepoint{Kind::percpu, "memflame_percpu_alloc", "percpu_alloc_percpu"},
    Tracepoint{Kind::vmalloc, "memflame_vfree", "free_vmap_area_noflush"},
    Tracepoint{Kind::vmalloc, "memflame_vmalloc", "alloc_vmap_area"},
};

// Since 6.2.
bool has_vmalloc_tracepoints() {
  static const bool has = [] {
    btf* kernel = btf__load_vmlinux_btf();
    const bool found =
        kernel != nullptr &&
        btf__find_by_name_kind(kernel, "btf_trace_alloc_vmap_area", BTF_KIND_TYPEDEF) > 0;
    btf__free(kernel);
    return found;
  }();
  return has;
}

bool is_traced(Kind wanted, Kind kind) {
  if (wanted != Kind::all) return wanted == kind;
  return kind != Kind::vmalloc || has_vmalloc_tracepoints();
}

// An entry of the live table is about 170 bytes, and all of them are there from the start, because
// nothing may be allocated while the kernel allocates: at most 1/64 of the memory.
uint32_t live_entries() {
  const uint64_t bytes = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page_bytes;
  uint64_t entries = 1 << 16;
  while (entries < (1U << 20) && entries * 2 * 170 <= bytes / 64) entries *= 2;
  return static_cast<uint32_t>(entries);
}

void configure(const ProbeOptions& options, bpf::config& config, BpfObject& object) {
  const Kind wanted = kind_of(options);
  if (wanted == Kind::vmalloc && !has_vmalloc_tracepoints())
    throw Error("--kind vmalloc: this kernel has no tracepoint alloc_vmap_area (Linux 6.2)",
                ExitCode::requirement);
  config.column_bytes = 1;
  config.kernel_skip = raw_tracepoint_frames;
  // If all tasks count, no processes need to be followed.
  object.set_own(bpf::kernel_config{.any_task = config.whole_system,
                                    .requested = own_options<KernelOptions>(options).requested,
                                    .no_movable = wanted == Kind::all});
  config.whole_system = 0;
  object.resize("blocks", options.max_live != 0 ? options.max_live : live_entries());
  for (const Tracepoint& row : tracepoints)
    if (!is_traced(wanted, row.kind)) object.leave_out(row.program);
}

// struct cache of kernel.bpf.c.
struct Cache {
  uint64_t name = 0;
  uint32_t size = 0, number = 0;
};

// The name of every cache that was met, by number, with the names merged into it.
std::map<uint32_t, std::string> cache_labels(const LoadedProbe& probe) {
  std::map<uint32_t, uint32_t> sizes;
  probe.object.for_each<uint64_t, Cache>(
      "caches", [&](const uint64_t&, const Cache& cache) { sizes[cache.number] = cache.size; });
  const SlabAliases aliases("/sys/kernel/slab");
  std::map<uint32_t, std::string> labels;
  uint32_t count = 0;
  probe.object.lookup("cache_count", uint32_t{0}, count);
  for (uint32_t number = 1; number <= count && number < bpf::max_caches; ++number) {
    std::array<char, bpf::cache_name_length> text{};
    if (!probe.object.lookup("cache_names", number, text)) continue;
    // If another cache has its address by now, this one is gone, and the folder does not describe
    // it.
    const std::string name = clean_cache_name({text.data(), text.size()});
    const auto size = sizes.find(number);
    labels[number] = size == sizes.end() ? name : aliases.label(name, size->second);
  }
  return labels;
}

Kind kind_of_leaf(uint16_t leaf) {
  switch (leaf & ~bpf::leaf_which) {
    case bpf::leaf_pages:
    case bpf::leaf_movable:
      return Kind::pages;
    case bpf::leaf_percpu:
      return Kind::percpu;
    case bpf::leaf_vmalloc:
      return Kind::vmalloc;
    default:
      return Kind::slab;
  }
}

// Where a row goes in the graph, and whether another row counts the same memory.
struct Place {
  std::string group;
  bool counted_elsewhere = false;
};

Place place_of(uint16_t leaf, MemoryUser user, Kind wanted) {
  switch (kind_of_leaf(leaf)) {
    case Kind::pages:
      if ((leaf & ~bpf::leaf_which) == bpf::leaf_movable) return {"[user memory and page cache]"};
      if (user == MemoryUser::slab) return {"[pages of slab]", true};
      if (user == MemoryUser::percpu) return {"[pages of percpu]", true};
      if (user == MemoryUser::vmalloc) return {"[pages of vmalloc]", has_vmalloc_tracepoints()};
      return {"[pages]"};
    case Kind::vmalloc:
      // vmap() and ioremap() give addresses to memory that others have allocated.
      if (user != MemoryUser::vmalloc) return {"[addresses without memory of their own]", true};
      return {"[vmalloc]"};
    case Kind::percpu:
      return {wanted == Kind::all ? "[percpu]" : ""};
    default:
      return {wanted == Kind::all ? "[slab]" : ""};
  }
}

constexpr int64_t doubtful_share = 50;  // if one block in this many was freed unseen

class KernelAccounting : public Accounting {
 public:
  explicit KernelAccounting(const ProbeOptions& options)
      : wanted_(kind_of(options)),
        all_tasks_(options.target.whole_system()),
        code_(needs_code(wanted_) ? read_file("/proc/kallsyms") : "") {
    if (wanted_ == Kind::all && !code_.is_known())
      throw Error(
          "--kind all: /proc/kallsyms hides its addresses (kernel.kptr_restrict), and so the pages "
          "of other allocators cannot be told apart: choose one kind, or " +
              run_as_root_or_with("CAP_SYSLOG"),
          ExitCode::requirement);
  }

  void attach(LoadedProbe& probe, Spaces&) override {
    // Programs must not allocate, so the notes for lost stacks are made in advance.
    for (uint64_t note = 1; note < bpf::note_count; ++note)
      probe.object.update("notes", note, bpf::sum{});
    for (const Tracepoint& row : tracepoints)
      if (is_traced(wanted_, row.kind))
        probe.links.raw_tracepoint(probe.object.program(row.program), row.name);
  }

  void armed(uint64_t) override { start_ = parse_meminfo(read_file("/proc/meminfo")); }
  void disarmed() override { end_ = parse_meminfo(read_file("/proc/meminfo")); }

  bool can_move() const override { return false; }

  void add_figures(const LoadedProbe& probe, std::span<const ValueType> types,
                   Rows& rows) override {
    labels_ = cache_labels(probe);
    live_.clear();
    allocations_.clear();
    left_out_ = 0;
    for (const char* map : {"sums", "notes"})
      probe.object.for_each<uint64_t, bpf::sum>(map, [&](const uint64_t& key, const bpf::sum& sum) {
        add(rows, key, sum, types.size());
      });
  }

  void finish(const LoadedProbe& probe, RecordingRows& rows) override {
    Recording& recording = rows.recording();
    add_figures(probe, recording.types, rows);
    compare(recording);
    say_doubtful(probe, recording);
    if (needs_code(wanted_) && !code_.is_known())
      recording.meta.notes.emplace_back(
          "pages and areas of other allocators are not told apart: /proc/kallsyms hides its "
          "addresses (kernel.kptr_restrict)");
  }

  void reconcile(const LoadedProbe& probe, const OsLedger&, Recording& recording) override {
    const bpf::counters counters = probe.object.counters();
    recording.meta.notes.push_back(
        with_commas(static_cast<int64_t>(counters.events)) + " allocations (" +
        iec_bytes(static_cast<int64_t>(counters.amount)) + "), " +
        with_commas(static_cast<int64_t>(counters.freed)) + " of their blocks freed (" +
        iec_bytes(static_cast<int64_t>(counters.freed_bytes)) + "), " +
        with_commas(static_cast<int64_t>(counters.unseen_frees)) +
        " freed without a trace and allocated again");
  }

  bool place(const LoadedProbe& probe, const StackLog& stacks, uint64_t key, RawStack& stack,
             std::string& group) override {
    const uint16_t leaf = stacks.leaf_of(key);
    if (leaf == 0) return true;
    const Place place = place_of(leaf, code_.user_of(stack.pcs), wanted_);
    if (wanted_ == Kind::all && place.counted_elsewhere) return false;
    group = place.group;
    if ((leaf & ~bpf::leaf_which) == bpf::leaf_cache && !labels_.contains(leaf & bpf::leaf_which))
      labels_ = cache_labels(probe);
    stack.leaf = name_of(leaf, labels_);
    return true;
  }

 private:
  static bool needs_code(Kind kind) {
    return kind == Kind::all || kind == Kind::pages || kind == Kind::vmalloc;
  }

  void add(Rows& rows, uint64_t key, const bpf::sum& sum, size_t columns) {
    const std::vector<int64_t> row(sum.value, sum.value + columns);
    if (std::all_of(row.begin(), row.end(), [](int64_t v) { return v == 0; })) return;
    const uint16_t leaf = rows.log().leaf_of(key);
    if (leaf == 0) return rows.add(key, "", row, row[3]);
    const RawStack* stack = rows.log().find(key);
    const MemoryUser user = code_.user_of(stack->pcs);
    const Place place = place_of(leaf, user, wanted_);
    if (wanted_ == Kind::all && place.counted_elsewhere) {
      left_out_ += row[0];
      return;
    }
    allocations_[leaf] += row[3];
    const Kind kind = kind_of_leaf(leaf);
    if (kind != Kind::vmalloc || !place.counted_elsewhere) live_[kind] += row[0];
    rows.add(key, place.group, row, row[3], name_of(leaf, labels_));
  }

  static std::string name_of(uint16_t leaf, const std::map<uint32_t, std::string>& names) {
    const auto name = names.find(leaf & bpf::leaf_which);
    const bool is_cache = (leaf & ~bpf::leaf_which) == bpf::leaf_cache && name != names.end();
    return leaf_name(leaf, is_cache ? name->second : "");
  }

  // Where many frees were not seen, some blocks that look live are free and not yet allocated
  // again.
  void say_doubtful(const LoadedProbe& probe, Recording& recording) const {
    for (const auto& [leaf, allocations] : allocations_) {
      uint32_t count = 0;
      if (!probe.object.lookup("unseen", uint32_t{leaf}, count)) continue;
      if (count == 0 || int64_t{count} * doubtful_share < allocations) continue;
      recording.meta.notes.push_back(
          name_of(leaf, labels_) + ": " + with_commas(count) + " of " + with_commas(allocations) +
          " were freed in a way that cannot be traced, so some shown as live may be free");
    }
  }

  void compare(Recording& recording) const {
    const auto row = [&](Kind kind, const char* what, int64_t growth) {
      if (is_traced(wanted_, kind))
        recording.meta.reconciliation.push_back(
            {.name = std::string(what) + (all_tasks_ ? "" : " of the whole system"),
             .captured = live_.contains(kind) ? live_.at(kind) : 0,
             .os = growth,
             .captured_is = "allocated and not freed"});
    };
    row(Kind::slab, "Slab growth", end_.slab - start_.slab);
    if (wanted_ == Kind::pages) row(Kind::pages, "MemFree shrinkage", start_.free - end_.free);
    row(Kind::percpu, "Percpu growth", end_.percpu - start_.percpu);
    row(Kind::vmalloc, "VmallocUsed growth", end_.vmalloc - start_.vmalloc);
    if (wanted_ != Kind::all) return;
    recording.meta.notes.push_back("left out because counted elsewhere: " + iec_bytes(left_out_) +
                                   " live in pages of slab, per-CPU memory and vmalloc, and in "
                                   "addresses without memory of their own; also user memory and "
                                   "page cache");
    if (!has_vmalloc_tracepoints())
      recording.meta.notes.push_back("vmalloc cannot be traced before Linux 6.2");
  }

  Kind wanted_;
  bool all_tasks_;
  KernelCode code_;
  KernelMemory start_, end_;
  std::map<uint32_t, std::string> labels_;  // of caches, as far as they were met
  // Live bytes by kind, of the recording that finish() makes.
  std::map<Kind, int64_t> live_;
  std::map<uint16_t, int64_t> allocations_;
  int64_t left_out_ = 0;
};

std::span<const std::byte> object() { return {memflame_kernel_object, memflame_kernel_object_end}; }

}  // namespace

extern const Probe kernel_probe;
const Probe kernel_probe{
    .name = "kernel",
    .help = "which kernel code holds kernel memory (slab, pages, per-CPU, vmalloc)",
    .description =
        "Watches the kernel's own allocators: kmalloc and slab caches, or with --kind pages, "
        "per-CPU\n"
        "memory, vmalloc areas, or all of them with each byte once. Stacks are the kernel's; "
        "their\n"
        "last frame says what was allocated. With a target, only allocations of its tasks count,\n"
        "whichever task frees them.",
    .nothing = "no allocation by the kernel",
    .values = values,
    .types = types,
    .settings = []() -> std::unique_ptr<ProbeSettings> {
      return std::make_unique<KernelOptions>();
    },
    .object = object,
    .configure = configure,
    .accounting = [](const ProbeOptions& options) -> std::unique_ptr<Accounting> {
      return std::make_unique<KernelAccounting>(options);
    },
    .has_blocks = true,
    .whole_system = true,
    .user_stacks = false,
};

}  // namespace memflame
