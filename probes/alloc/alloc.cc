// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cstdio>
#include <future>

#include "core/error.h"
#include "core/units.h"
#include "probes/alloc/alloc_run.h"
#include "probes/alloc/attach.h"
#include "probes/alloc/attaching/uprobe_means.h"
#include "probes/alloc/block_table.h"
#include "probes/alloc/settings/rate.h"
#include "probes/loading/bpf_syscall.h"
#include "probes/loading/loaded_probe.h"
#include "probes/options/variance.h"
#include "probes/processes/os_ledger.h"
#include "probes/run/run_notes.h"
#include "probes/run/waste.h"

extern "C" {
extern const std::byte memflame_alloc_object[];
extern const std::byte memflame_alloc_object_end[];
}

namespace memflame {
namespace {

constexpr std::array values{
    ProbeValue{"live", "bytes allocated since the start and not freed by the end", 0},
    ProbeValue{"live-count", "blocks allocated since the start and not freed by the end", 1},
    ProbeValue{"total", "all bytes allocated, freed or not", 2},
    ProbeValue{"total-count", "all allocations, freed or not", 3},
    // What is looked at when counting ends.
    ProbeValue{"untouched", "live bytes in whole pages that were never touched", 4},
    ProbeValue{"in-whole-pages", "live bytes in whole pages, of which that can be told", 5},
    ProbeValue{"slack", "what glibc's malloc gave for live blocks beyond what was asked for", 6},
    ProbeValue{"pinning", "live bytes in blocks that keep a heap from shrinking", 7},
    ProbeValue{"first-touch",
               "live bytes by the code that allocated them and the code that touched their pages "
               "first",
               8},
    ProbeValue{"touched-by", "live bytes by the code that touched their pages first", 9},
};

constexpr std::array examples{
    ProbeExample{"-p 1234 --max-overhead 1 -o graph.svg",
                 "sample, so that it costs the process at most one percent of its time"},
};

std::vector<ValueType> types(const ProbeOptions& options, bool sampled) {
  std::vector<ValueType> all{{"live", Unit::bytes},
                             {"live-count", Unit::count},
                             {"total", Unit::bytes},
                             {"total-count", Unit::count}};
  if (shows_waste(options.value)) {
    if (sampled)
      throw Error("--value " + options.value +
                  " must know every block, but the program samples them itself");
    all.insert(all.end(), waste_types().begin(), waste_types().end());
    if (shows_first_touch(options.value))
      all.insert(all.end(), touch_types().begin(), touch_types().end());
  }
  if (!sampled) return all;
  for (size_t i = 0; i < bpf::first_variance; ++i) {
    all[i].variance = bpf::first_variance + i;
    all[i].variance_unit = all[i].unit == Unit::bytes ? variance_unit : 1;
    all.push_back({all[i].name + " variance", Unit::variance});
  }
  return all;
}

// With events, how many threads may be inside a realloc() at once.
constexpr uint32_t moving_entries = 1 << 16;

// The number of freed blocks that --check remembers.
constexpr uint32_t freed_entries = 1 << 16;

// The programs of first_touch.h.
struct TouchProgram {
  const char* program;
  const char* tracepoint;
};
constexpr std::array touch_programs{TouchProgram{"memflame_touch_user", "page_fault_user"},
                                    TouchProgram{"memflame_touch_kernel", "page_fault_kernel"}};

void configure_touches(const ProbeOptions& options, BpfObject& object, uint32_t entries) {
  if (options.first_touch) return object.resize("page_faults", entries);
  for (const TouchProgram& row : touch_programs) object.leave_out(row.program);
}

void make_tables(const ProbeOptions& options, BpfObject& object) {
  object.resize("blocks", live_entries(options));
  object.make_soon("blocks");
}

void configure(const ProbeOptions& options, bpf::config& config, BpfObject& object) {
  const AllocOptions& own = own_options<AllocOptions>(options);
  config.column_bytes = 1;
  config.tell_borrows = options.own_links;
  bpf::alloc_config in_kernel{};
  in_kernel.check = own.check;
  in_kernel.usable = own.usable_size;
  in_kernel.ages = options.ages || own.check;
  in_kernel.governed = own.max_overhead > 0;
  in_kernel.trace = options.calls;
  in_kernel.events = options.events;
  in_kernel.free_stacks = options.free_stacks;
  in_kernel.first_touch = options.first_touch;
  // The rest of the ring is for stacks.
  in_kernel.event_bytes = options.ring_bytes / 8 * 7;
  in_kernel.count_calls =
      !own.alloc_specs.empty() || !own.free_specs.empty() || !own.presets.empty();
  if (in_kernel.count_calls != 0) object.resize("function_calls", most_counted_functions);
  fill_probabilities(in_kernel);
  object.set_own(in_kernel);
  configure_touches(options, object,
                    live_entries(options));  // by default, one for each page of the machine
  if (own.check) object.resize("freed_blocks", freed_entries);
  if (options.events) object.resize("moving", moving_entries);
  const UprobeMeans means = uprobe_means(options.own_links, kernel_features());
  if (means.multi)
    for (const char* program : {"memflame_usdt_alloc", "memflame_usdt_free"})
      object.set_attach_type(program, attach_uprobe_multi);
  if (means.session)
    object.set_attach_type("memflame_alloc_session", attach_uprobe_session);
  else
    object.leave_out("memflame_alloc_session");
  for (const char* program :
       {"memflame_alloc_enter", "memflame_alloc_free", "memflame_alloc_return"})
    if (means.multi) object.set_attach_type(program, attach_uprobe_multi);
  // The verifier takes long for each of these. Few programs have USDT probes.
  for (const char* program : {"memflame_usdt_alloc", "memflame_usdt_free"})
    object.load_later(program, When::on_demand);
  object.load_later("memflame_alloc_session", When::beside);
  // A process with a session needs it for its children only, if at all.
  const bool has_session = means.session && options.own_links;
  object.load_later("memflame_alloc_enter", has_session ? When::after : When::beside);
  if (!has_session) object.leave_out("memflame_alloc_free");
  if (!means.session || options.own_links) return;
  object.leave_out("memflame_alloc_return");
  // A Go function must never get a return probe.
  if (in_kernel.count_calls == 0) object.leave_out("memflame_alloc_enter");
}

// Says what a malloc and its free cost in a process that has the probes but is not watched.
void say_price(double entry_ns) {
  std::fprintf(stderr,
               "memflame: children are seen from their first instruction (--children exact): until "
               "the end each malloc and free of other processes with the same libraries takes %.1f "
               "µs longer; --children follow spares them\n",
               2 * entry_ns / 1000);
}

std::span<const std::byte> object() { return {memflame_alloc_object, memflame_alloc_object_end}; }

}  // namespace

void AllocRun::attach(LoadedProbe& probe, Spaces& spaces) {
  if (options_.first_touch)
    for (const TouchProgram& row : touch_programs)
      probe.links.raw_tracepoint(probe.object.program(row.program), row.tracepoint);
  auto& rate = probe.object.own_data<bpf::rate>();
  if (own_.sample_bytes != 0) set_sampling(rate, own_.sample_bytes);
  if (own_.every > 1) set_every(rate, own_.every);
  const UprobeMeans means = uprobe_means(options_.own_links, probe.features);
  if (own_.max_overhead > 0)
    governor_ = std::make_unique<Governor>(own_.max_overhead, means, table_.entries(),
                                           options_.target.follow_children);
  if (options_.own_links) return attach_allocators(*this, probe, spaces);
  auto price = std::async(std::launch::async, measure_entry_price, means);
  attach_allocators(*this, probe, spaces);
  say_price(price.get());
}

bool AllocRun::attach_module(LoadedProbe& probe, const Module& module) {
  return attach_allocators_of(*this, probe, module);
}

std::string AllocRun::sampling_in_words() const {
  std::string words = memflame::sampling_in_words(own_);
  if (!words.empty()) return words;
  return target_samples_ ? "as the program itself does it (otel_memory)" : "";
}

void AllocRun::reconcile(const LoadedProbe& probe, const OsLedger& os, Recording& recording) {
  const bpf::counters counters = probe.object.counters();
  recording.meta.sampling = sampling_in_words();
  os.compare({.name = "VmRSS growth",
              .captured = os.captured(recording, 0),
              .os = os.growth().value_or(OsMemory{}).rss(),
              .captured_is = "allocated and not freed"},
             recording);
  recording.meta.notes.push_back(allocations_in_words(counters));
  if (governor_) {
    if (!counting_) governor_->finish(probe, os);
    recording.meta.sampling = governor_->budget().kept_in_words();
    recording.meta.notes.push_back(governor_->budget().in_words());
  }
}

extern const Probe alloc_probe;
const Probe alloc_probe{
    .name = "alloc",
    .help = "show which code allocated and did not free (malloc family, operator new)",
    .description =
        "Watches malloc, calloc, realloc, reallocarray, posix_memalign, aligned_alloc, memalign,\n"
        "valloc, pvalloc and free of the target's libc (or another allocator with these names).\n"
        "Bytes are those the program asked for. A block counts once, for the outermost call.",
    .nothing = "no call of an allocator",
    .values = values,
    .examples = examples,
    .types = types,
    .settings = []() -> std::unique_ptr<ProbeSettings> { return std::make_unique<AllocOptions>(); },
    .object = object,
    .make_tables = make_tables,
    .configure = configure,
    .accounting = [](const ProbeOptions& options) -> std::unique_ptr<Accounting> {
      return std::make_unique<AllocRun>(options);
    },
    .has_blocks = true,
    .events = true,
    .inside = true,
    .on_functions = true,
    .whole_system = false,
};

}  // namespace memflame
