// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "core/units.h"
#include "probes/brk/segments.h"
#include "probes/loading/loaded_probe.h"
#include "probes/options/common_options.h"
#include "probes/probe.h"
#include "probes/processes/os_ledger.h"
#include "probes/stacks/rows.h"
#include "probes/syscall_probe.h"

extern "C" {
extern const std::byte memflame_brk_object[];
extern const std::byte memflame_brk_object_end[];
}

namespace memflame {
namespace {

constexpr std::array values{
    ProbeValue{"grown", "bytes the program break was moved by; shrinks are negative", 0},
    ProbeValue{"outstanding", "bytes of heap still there at the end; a shrink takes the newest", 1},
    ProbeValue{"calls", "calls of brk(2) that moved the break", 2},
};

std::vector<ValueType> types(const ProbeOptions&, bool) {
  return {{"grown", Unit::bytes}, {"outstanding", Unit::bytes}, {"calls", Unit::count}};
}

struct BrkOptions : ProbeSettings {
  std::vector<OptionRow> rows(ProbeOptions& common) override { return {kernel_stacks_row(common)}; }
};

class BrkAccounting : public Accounting {
 public:
  void attach(LoadedProbe& probe, Spaces&) override {
    constexpr std::array calls{"brk"};
    attach_syscalls(probe, calls);
  }
  void on_event(const bpf::event_record& event) override {
    const uint64_t before = event.args[0];
    const uint64_t after = event.args[1];
    if (after == before) return;  // a query, or a call that failed
    auto& [grown, outstanding, calls] = figures_[event.hash];
    calls += 1;
    grown += static_cast<int64_t>(after) - static_cast<int64_t>(before);
    heaps_[event.space].move(before, after, event.hash);
    net_ += static_cast<int64_t>(after) - static_cast<int64_t>(before);
  }

  bool can_move() const override { return false; }

  void add_figures(const LoadedProbe& probe, std::span<const ValueType>, Rows& rows) override {
    auto figures = figures_;
    for (const auto& [id, heap] : heaps_) {
      const uint32_t space = id;
      heap.for_each([&](uint64_t owner, int64_t bytes) {
        figures[owner != 0 ? owner : uint64_t{space} << 8 | bpf::note_ring_full][1] += bytes;
      });
    }
    const bpf::counters counters = probe.object.counters();
    if (counters.event_drops != 0)
      figures[bpf::note_ring_full][0] += static_cast<int64_t>(counters.event_drop_bytes);
    for (const auto& [hash, row] : figures) rows.add(hash, "", {row[0], row[1], row[2]}, row[2]);
  }

  void reconcile(const LoadedProbe&, const OsLedger& os, Recording& recording) override {
    int64_t net_pages = 0;
    int64_t older = 0;
    for (const auto& [space, heap] : heaps_) {
      // [heap] is made of whole pages, the break is not.
      const auto page_up = [](uint64_t address) { return (address + 4095) & ~uint64_t{4095}; };
      const auto rounded = static_cast<int64_t>(page_up(heap.last_break())) -
                           static_cast<int64_t>(page_up(heap.first_break()));
      if (os.has_figures(SpaceId{space})) net_pages += rounded;
      older += static_cast<int64_t>(heap.released_older());
    }
    os.compare({"[heap] growth", net_pages, os.growth().value_or(OsMemory{}).heap}, recording);
    recording.meta.notes.push_back("net change of the break " + iec_bytes(net_) + " (" +
                                   with_commas(net_) + " bytes)");
    if (older != 0)
      recording.meta.notes.push_back("released from before the start: " + iec_bytes(older));
  }

 private:
  std::unordered_map<uint64_t, std::array<int64_t, 3>> figures_;  // by stack hash
  std::unordered_map<uint32_t, Segments> heaps_;                  // by space
  int64_t net_ = 0;
};

void configure(const ProbeOptions&, bpf::config& config, BpfObject& object) {
  choose_syscall_programs(config, object);
}

std::span<const std::byte> object() { return {memflame_brk_object, memflame_brk_object_end}; }

}  // namespace

extern const Probe brk_probe;
const Probe brk_probe{
    .name = "brk",
    .help = "who grows the heap (the program break)",
    .description =
        "Every brk(2) call with the stack that made it. With glibc that is malloc() asking for "
        "more\n"
        "heap: whoever is charged was the one to need it, not necessarily the one who keeps it.",
    .nothing = "no call that moved the program break",
    .values = values,
    .types = types,
    .settings = []() -> std::unique_ptr<ProbeSettings> { return std::make_unique<BrkOptions>(); },
    .object = object,
    .configure = configure,
    .accounting = [](const ProbeOptions&) -> std::unique_ptr<Accounting> {
      return std::make_unique<BrkAccounting>();
    },
    .whole_system = true,
};

}  // namespace memflame
