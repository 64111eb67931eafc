// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "core/units.h"
#include "probes/fault/config.h"
#include "probes/loading/loaded_probe.h"
#include "probes/options/common_options.h"
#include "probes/probe.h"
#include "probes/processes/os_ledger.h"
#include "probes/stacks/rows.h"

extern "C" {
extern const std::byte memflame_fault_object[];
extern const std::byte memflame_fault_object_end[];
}

namespace memflame {

extern const Probe fault_probe;

namespace {

constexpr std::array values{
    ProbeValue{"pages", "resident pages gained (and, in a second column, released)", 0},
    ProbeValue{"faults", "page faults taken, minor and major", 0},
};

bool counts_pages(std::string_view value) {
  return value_named(fault_probe, value).name == "pages";
}

struct FaultOptions : ProbeSettings {
  uint32_t every = 0;  // keep the stack of one event in N; 0 = of all

  std::vector<OptionRow> rows(ProbeOptions& common) override {
    return {
        kernel_stacks_row(common),
        every_row(every, OptionGroup::measure,
                  "take the stack of one event in N, at random; the picture is then an estimate, "
                  "totals stay exact")};
  }
};

uint32_t every_of(const ProbeOptions& options) { return own_options<FaultOptions>(options).every; }

std::vector<ValueType> types(const ProbeOptions& options, bool sampled) {
  std::vector<ValueType> types{{"minor", Unit::count}, {"major", Unit::count}};
  if (counts_pages(options.value)) types = {{"gained", Unit::pages}, {"released", Unit::pages}};
  if (!sampled) return types;
  for (size_t i = 0; i < 2; ++i) {
    types[i].variance = types.size();
    types[i].variance_unit = every_of(options);  // see add() in fault.bpf.c
    types.push_back({types[i].name + " variance", Unit::variance});
  }
  return types;
}

void configure(const ProbeOptions& options, bpf::config& config, BpfObject& object) {
  const bool pages = counts_pages(options.value);
  object.set_own(bpf::fault_config{.pages = pages, .every = every_of(options)});
  config.column_bytes = pages ? 4096 : 0;
  config.kernel_skip = raw_tracepoint_frames;
  // Fault events are needed to count faults, and before 6.2 to say whose the pages are.
  const bool exact = kernel_features().exact_rss_stat;
  if (!pages) object.leave_out("memflame_rss");
  if (!pages || !exact) return;
  object.leave_out("memflame_fault_user");
  object.leave_out("memflame_fault_kernel");
}

// Totals of all events, whether their stacks were taken or not.
struct Totals {
  std::array<int64_t, 2> all{};
  std::array<int64_t, 2> compared{};  // in spaces for which there are figures of the OS
};

Totals totals_of_rows(const OsLedger& os, const Recording& recording) {
  Totals totals;
  for (size_t i = 0; i < totals.all.size(); ++i) {
    for (const Aggregate& row : recording.sums) totals.all.at(i) += row.values[i];
    totals.compared.at(i) = os.captured(recording, i);
  }
  return totals;
}

Totals totals_of_spaces(const LoadedProbe& probe, const OsLedger& os) {
  Totals totals;
  probe.object.for_each<uint32_t, bpf::space>("spaces",
                                              [&](const uint32_t& id, const bpf::space& space) {
                                                for (size_t i = 0; i < totals.all.size(); ++i) {
                                                  totals.all.at(i) += space.totals[i];
                                                  if (os.has_figures(SpaceId{id}))
                                                    totals.compared.at(i) += space.totals[i];
                                                }
                                              });
  return totals;
}

std::string in_words(const Recording& recording, const Totals& totals) {
  std::string text;
  for (size_t i = 0; i < totals.all.size(); ++i)
    text += (i == 0 ? "" : ", ") + recording.types[i].name + " " +
            human(totals.all.at(i), recording.types[i]);
  return text;
}

class FaultAccounting : public Accounting {
 public:
  explicit FaultAccounting(const ProbeOptions& options)
      : pages_(counts_pages(options.value)), every_(every_of(options)) {}

  void attach(LoadedProbe& probe, Spaces&) override {
    const auto put = [&](const char* program, const char* tracepoint) {
      probe.links.raw_tracepoint(probe.object.program(program), tracepoint);
    };
    if (pages_) put("memflame_rss", "rss_stat");
    if (pages_ && probe.features.exact_rss_stat) return;
    put("memflame_fault_user", "page_fault_user");
    put("memflame_fault_kernel", "page_fault_kernel");
  }

  bool is_sampled() const override { return every_ > 1; }

  // In fault.bpf.c the events of --value pages are a column behind the pages.
  int64_t events_of(const int64_t* sums) const override {
    return pages_ ? sums[2] : sums[0] + sums[1];
  }

  void add_event(std::span<int64_t> sums) const override {
    if (pages_) ++sums[2];
  }

  void reconcile(const LoadedProbe& probe, const OsLedger& os, Recording& recording) override {
    const Totals totals =
        is_sampled() ? totals_of_spaces(probe, os) : totals_of_rows(os, recording);
    if (is_sampled()) {
      recording.meta.sampling =
          "1 in " + with_commas(every_) + (pages_ ? " pages" : " page faults");
      recording.meta.notes.push_back("exact total of all events: " + in_words(recording, totals));
    }
    if (!pages_) return;
    const std::optional<OsMemory> known = os.growth();
    const OsMemory growth = known.value_or(OsMemory{});
    const int64_t net = totals.compared[0] - totals.compared[1];
    os.compare({"VmRSS growth", net * page_bytes, growth.rss()}, recording);
    if (!known) {
      if (!is_sampled()) recording.meta.notes.push_back(in_words(recording, totals));
      return;
    }
    recording.meta.notes.push_back((is_sampled() ? "" : in_words(recording, totals) + "; ") +
                                   "VmRSS grew by anon " + iec_bytes(growth.rss_anon) + ", file " +
                                   iec_bytes(growth.rss_file) + ", shmem " +
                                   iec_bytes(growth.rss_shmem));
  }

 private:
  bool pages_;
  uint32_t every_;
};

std::span<const std::byte> object() { return {memflame_fault_object, memflame_fault_object_end}; }

}  // namespace

const Probe fault_probe{
    .name = "fault",
    .help = "show which code makes pages resident, or takes page faults",
    .description =
        "Resident pages come from the kernel's own counters, so huge pages, fault-around,\n"
        "MAP_POPULATE and faults that the kernel takes for the program (read(2) into fresh "
        "memory)\n"
        "all count. A page is 4 KiB.",
    .nothing = "no page fault and no change of their resident pages",
    .values = values,
    .types = types,
    .settings = []() -> std::unique_ptr<ProbeSettings> { return std::make_unique<FaultOptions>(); },
    .object = object,
    .configure = configure,
    .accounting = [](const ProbeOptions& options) -> std::unique_ptr<Accounting> {
      return std::make_unique<FaultAccounting>(options);
    },
    .whole_system = true,
};

}  // namespace memflame
