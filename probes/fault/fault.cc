#include <array>

#include "core/units.h"
#include "probes/session.h"

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

std::vector<ValueType> types(const ProbeOptions& options) {
  const std::string_view value = options.value;
  if (counts_pages(value)) return {{"gained", Unit::pages}, {"released", Unit::pages}};
  return {{"minor", Unit::count}, {"major", Unit::count}};
}

void configure(const ProbeOptions& options, bpf::config& config, BpfObject& object) {
  config.pages = counts_pages(options.value);
  config.column_bytes = config.pages ? 4096 : 0;
  config.kernel_skip = raw_tracepoint_frames;
  // Fault events are needed to count faults, and before 6.2 to say whose the pages are.
  const bool exact = kernel_features().exact_rss_stat;
  if (!config.pages) object.leave_out("memflame_rss");
  if (!config.pages || !exact) return;
  object.leave_out("memflame_fault_user");
  object.leave_out("memflame_fault_kernel");
}

void attach(Session& session) {
  const bool pages = counts_pages(session.options().value);
  const auto put = [&](const char* program, const char* tracepoint) {
    session.links().raw_tracepoint(session.object().program(program), tracepoint);
  };
  if (pages) put("memflame_rss", "rss_stat");
  if (pages && session.features().exact_rss_stat) return;
  put("memflame_fault_user", "page_fault_user");
  put("memflame_fault_kernel", "page_fault_kernel");
}

void reconcile(Session& session, Recording& recording) {
  if (!counts_pages(session.options().value)) return;
  int64_t gained = 0;
  int64_t released = 0;
  for (const Aggregate& row : recording.sums) {
    gained += row.values[0];
    released += row.values[1];
  }
  const OsMemory os = session.os().growth();
  const int64_t net = session.os().captured(recording, 0) - session.os().captured(recording, 1);
  recording.meta.reconciliation.push_back({"VmRSS growth", net * page_bytes, os.rss()});
  recording.meta.notes.push_back("gained " + human(gained, Unit::pages) + ", released " +
                                 human(released, Unit::pages) + "; VmRSS grew by anon " +
                                 iec_bytes(os.rss_anon) + ", file " + iec_bytes(os.rss_file) +
                                 ", shmem " + iec_bytes(os.rss_shmem));
}

std::span<const std::byte> object() { return {memflame_fault_object, memflame_fault_object_end}; }

}  // namespace

const Probe fault_probe{
    .name = "fault",
    .help = "who makes pages resident, or takes page faults",
    .description =
        "Resident pages come from the kernel's own counters, so huge pages, fault-around,\n"
        "MAP_POPULATE and faults that the kernel takes for the program (read(2) into fresh "
        "memory)\n"
        "all count. A page is 4 KiB.",
    .values = values,
    .types = types,
    .object = object,
    .configure = configure,
    .attach = attach,
    .attach_module = nullptr,
    .reconcile = reconcile,
    .accounting = [](const ProbeOptions&) { return std::make_unique<Accounting>(); },
    .whole_system = true,
};

}  // namespace memflame
