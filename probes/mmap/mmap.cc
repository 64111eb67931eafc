// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>

#include <array>
#include <map>
#include <unordered_set>

#include "core/units.h"
#include "probes/loading/loaded_probe.h"
#include "probes/mmap/intervals.h"
#include "probes/options/common_options.h"
#include "probes/probe.h"
#include "probes/processes/os_ledger.h"
#include "probes/processes/spaces.h"
#include "probes/stacks/rows.h"
#include "probes/syscall_probe.h"
#include "probes/system/procfs.h"

extern "C" {
extern const std::byte memflame_mmap_object[];
extern const std::byte memflame_mmap_object_end[];
}

namespace memflame {
namespace {

constexpr std::array values{
    ProbeValue{"outstanding", "bytes mapped since the start and still mapped at the end", 0},
    ProbeValue{"total", "all bytes mapped: mmap, and growth by mremap", 1},
    ProbeValue{"calls", "calls of mmap, and of mremap that map more", 2},
};

// The kinds, in the order of MapKind, and all of them.
constexpr std::array kind_words{OptionWord{"anon"}, OptionWord{"file"}, OptionWord{"shared"},
                                OptionWord{"none", "PROT_NONE"}, OptionWord{"all"}};
constexpr size_t kinds = kind_words.size() - 1;
constexpr std::array<std::string_view, kinds> groups{"[anon]", "[file]", "[shared]", "[PROT_NONE]"};

struct MmapOptions : ProbeSettings {
  std::optional<MapKind> kind;  // none: all of them

  std::vector<OptionRow> rows(ProbeOptions& common) override {
    const auto set = [this](size_t place) {
      kind = place < kinds ? std::optional(static_cast<MapKind>(place)) : std::nullopt;
    };
    return {{"kind", "WHAT", words_with_notes(kind_words) + " (default: all)",
             option::Choice{kind_words, set}},
            kernel_stacks_row(common)};
  }
};

std::vector<ValueType> types(const ProbeOptions&, bool) {
  return {{"outstanding", Unit::bytes}, {"total", Unit::bytes}, {"calls", Unit::count}};
}

uint64_t page_up(uint64_t bytes) { return (bytes + 4095) & ~uint64_t{4095}; }

MapKind kind_of(uint64_t flags) {
  const uint64_t sharing = flags & MAP_TYPE;
  if (sharing == MAP_SHARED || sharing == MAP_SHARED_VALIDATE) return MapKind::shared;
  return (flags & MAP_ANONYMOUS) != 0 ? MapKind::anon : MapKind::file;
}

class MmapAccounting : public Accounting {
 public:
  explicit MmapAccounting(std::optional<MapKind> kind) : kind_(kind) {}

  void attach(LoadedProbe& probe, Spaces&) override {
    constexpr std::array calls{"mmap", "munmap", "mremap", "mprotect"};
    attach_syscalls(probe, calls);
  }

  // By the time a fresh program could be read, it has mapped its libraries; those are its own
  // events.
  void begin(SpaceId id, pid_t pid, bool fresh) override {
    if (!fresh) take_snapshot(spaces_[id.index], pid);
  }
  void armed(uint64_t) override {
    for (auto& [id, space] : spaces_)
      if (space.pid != 0) take_snapshot(space, space.pid);
  }
  void fork(SpaceId parent, SpaceId child) override {
    spaces_[child.index].intervals = spaces_[parent.index].intervals.inherited();
  }

  void on_event(const bpf::event_record& e) override {
    Watched& space = spaces_[e.space];
    if (e.time < space.snapshot_ns) return;  // already in the snapshot
    Intervals& map = space.intervals;
    switch (e.call) {
      case bpf::call_mmap: {
        const uint64_t size = page_up(e.args[1]);
        const MapKind accessible = kind_of(e.args[3]);
        const MapKind kind = e.args[2] == PROT_NONE ? MapKind::none : accessible;
        map.map(e.result, e.result + size, e.hash, kind, accessible);
        count(e.hash, kind, size);
        break;
      }
      case bpf::call_munmap:
        map.unmap(e.args[0], e.args[0] + page_up(e.args[1]));
        break;
      case bpf::call_mremap: {
        const uint64_t old_size = page_up(e.args[1]);
        const uint64_t new_size = page_up(e.args[2]);
        const bool keep = (e.args[3] & MREMAP_DONTUNMAP) != 0;
        map.remap(e.args[0], old_size, e.result, new_size, e.hash, keep);
        // Shrinking and moving map nothing new.
        const uint64_t more = keep ? new_size : new_size - std::min(new_size, old_size);
        if (more != 0) count(e.hash, map.kind_at(e.result), more);
        break;
      }
      case bpf::call_mprotect:
        map.protect(e.args[0], e.args[0] + page_up(e.args[1]), e.args[2] != PROT_NONE, e.hash);
        break;
      default:
        break;
    }
  }

  void forget(LoadedProbe& probe, std::span<const uint64_t> keys,
              std::span<const SpaceId> spaces) override {
    Accounting::forget(probe, keys, spaces);
    const std::unordered_set<uint64_t> gone(keys.begin(), keys.end());
    std::erase_if(figures_, [&](const auto& entry) { return gone.contains(entry.first.first); });
    for (const SpaceId space : spaces) spaces_.erase(space.index);
  }

  bool can_move() const override { return false; }

  void add_figures(const LoadedProbe& probe, std::span<const ValueType>, Rows& rows) override {
    auto figures = figures_;
    for (const auto& [id, space] : spaces_)
      space.intervals.for_each([&](uint64_t start, uint64_t end, const Intervals::Part& part) {
        if (part.owner == Intervals::before_start) return;
        figures[{part.owner, part.kind}][0] += static_cast<int64_t>(end - start);
      });
    const bpf::counters counters = probe.object.counters();
    if (counters.event_drops != 0)
      figures[{bpf::note_ring_full, MapKind::anon}][1] +=
          static_cast<int64_t>(counters.event_drop_bytes);
    for (const auto& [key, row] : figures)
      if (!kind_ || *kind_ == key.second)
        rows.add(key.first, std::string(groups[static_cast<size_t>(key.second)]),
                 {row[0], row[1], row[2]}, row[2]);
  }

  void reconcile(const LoadedProbe&, const OsLedger& os, Recording& recording) override {
    std::array<int64_t, kinds> by_kind{};
    int64_t net = 0;
    int64_t released_older = 0;
    for (const auto& [id, space] : spaces_) {
      const auto released = static_cast<int64_t>(space.intervals.released_older());
      const bool compared = os.has_figures(SpaceId{id});
      released_older += released;
      if (compared) net -= released;
      space.intervals.for_each([&](uint64_t start, uint64_t end, const Intervals::Part& part) {
        if (part.owner == Intervals::before_start) return;
        const auto bytes = static_cast<int64_t>(end - start);
        by_kind[static_cast<size_t>(part.kind)] += bytes;
        if (compared) net += bytes;
      });
    }
    std::string of_kinds;
    for (size_t i = 0; i < kinds; ++i)
      of_kinds += (i ? ", " : "") + std::string(kind_words[i].name) + " " + iec_bytes(by_kind[i]);
    // VmSize also grows by brk and by the stack, and shrinks by what was mapped before the start.
    const OsMemory growth = os.growth().value_or(OsMemory{});
    os.compare({"VmSize growth (mmap + [heap] + stack - older mappings released)",
                net + growth.heap + growth.stack, growth.vm_size},
               recording);
    recording.meta.notes.push_back("outstanding by kind: " + of_kinds);
    if (kind_)
      recording.meta.notes.push_back("shown: only --kind " +
                                     std::string(kind_words[static_cast<size_t>(*kind_)].name));
    if (released_older != 0)
      recording.meta.notes.push_back("mapped before the start and released since: " +
                                     iec_bytes(released_older));
  }

 private:
  struct Watched {
    Intervals intervals;
    pid_t pid = 0;
    uint64_t snapshot_ns = 0;
  };

  static void take_snapshot(Watched& space, pid_t pid) {
    space.pid = pid;
    const std::optional<std::vector<MapsLine>> lines = read_maps(pid);
    if (!lines) return;
    space.snapshot_ns = monotonic_ns();
    space.intervals = Intervals();
    for (const MapsLine& line : *lines) {
      const bool reserved = !line.readable && !line.writable && !line.executable;
      const MapKind accessible = line.shared       ? MapKind::shared
                                 : line.inode != 0 ? MapKind::file
                                                   : MapKind::anon;
      space.intervals.map(line.start, line.end, Intervals::before_start,
                          reserved ? MapKind::none : accessible, accessible);
    }
  }

  void count(uint64_t hash, MapKind kind, uint64_t bytes) {
    auto& row = figures_[{hash, kind}];
    row[1] += static_cast<int64_t>(bytes);
    row[2] += 1;
  }

  std::optional<MapKind> kind_;  // shown; none: all of them
  // By stack hash and kind.
  std::map<std::pair<uint64_t, MapKind>, std::array<int64_t, 3>> figures_;
  std::unordered_map<uint32_t, Watched> spaces_;
};

void configure(const ProbeOptions&, bpf::config& config, BpfObject& object) {
  choose_syscall_programs(config, object);
}

std::span<const std::byte> object() { return {memflame_mmap_object, memflame_mmap_object_end}; }

}  // namespace

extern const Probe mmap_probe;
const Probe mmap_probe{
    .name = "mmap",
    .help = "show which code maps memory and keeps it mapped",
    .description =
        "Every mmap, munmap, mremap and mprotect that succeeds. Mapped is not used: memory counts\n"
        "from the first touch on ('memflame fault'). PROT_NONE reservations are listed apart; the\n"
        "call that makes them accessible becomes their owner.",
    .nothing = "no call of mmap, munmap or mremap",
    .values = values,
    .types = types,
    .settings = []() -> std::unique_ptr<ProbeSettings> { return std::make_unique<MmapOptions>(); },
    .object = object,
    .configure = configure,
    .accounting = [](const ProbeOptions& options) -> std::unique_ptr<Accounting> {
      return std::make_unique<MmapAccounting>(own_options<MmapOptions>(options).kind);
    },
    .whole_system = true,
};

}  // namespace memflame
