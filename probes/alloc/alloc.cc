#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "core/error.h"
#include "core/units.h"
#include "probes/command.h"
#include "probes/elf_functions.h"
#include "probes/session.h"
#include "probes/unique_fd.h"

extern "C" {
extern const std::byte memflame_alloc_object[];
extern const std::byte memflame_alloc_object_end[];
}

namespace memflame {
namespace {

struct AllocFunction {
  std::string_view name;
  bpf::alloc_function kind;
};

constexpr std::array functions{
    AllocFunction{"malloc", bpf::fn_malloc},
    AllocFunction{"calloc", bpf::fn_calloc},
    AllocFunction{"realloc", bpf::fn_realloc},
    AllocFunction{"reallocarray", bpf::fn_reallocarray},
    AllocFunction{"memalign", bpf::fn_aligned},
    AllocFunction{"aligned_alloc", bpf::fn_aligned},
    AllocFunction{"posix_memalign", bpf::fn_posix_memalign},
    AllocFunction{"valloc", bpf::fn_valloc},
    AllocFunction{"pvalloc", bpf::fn_valloc},
    AllocFunction{"free", bpf::fn_free},
    AllocFunction{"cfree", bpf::fn_free},
};

constexpr std::array values{
    ProbeValue{"live", "bytes allocated since the start and not freed by the end", 0},
    ProbeValue{"live-count", "blocks allocated since the start and not freed by the end", 1},
    ProbeValue{"total", "all bytes allocated, freed or not", 2},
    ProbeValue{"total-count", "all allocations, freed or not", 3},
};

std::vector<ValueType> types(std::string_view) {
  return {{"live", Unit::bytes},
          {"live-count", Unit::count},
          {"total", Unit::bytes},
          {"total-count", Unit::count}};
}

// The table's hash buckets take 16 bytes an entry from the start, its blocks about 80 bytes each as
// they come: a bucket array of at most 1/256 of the memory, rounded down to a power of two.
uint32_t live_entries() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  uint64_t kib = 0;
  file >> word >> kib;
  uint64_t entries = 1 << 16;
  while (entries < (4U << 20) && entries * 2 * 16 <= kib * 1024 / 256) entries *= 2;
  return static_cast<uint32_t>(entries);
}

void configure(const ProbeOptions& options, bpf::config& config, BpfObject& object) {
  config.column_bytes = 1;
  object.resize("blocks", options.max_live != 0 ? options.max_live : live_entries());
  if (!kernel_features().uprobe_multi) return;
  for (const char* program :
       {"memflame_alloc_enter", "memflame_alloc_return", "memflame_free_enter"})
    object.set_attach_type(program, 48 /* BPF_TRACE_UPROBE_MULTI */);
}

// free() does not begin with an instruction that the kernel can emulate, so a probe there costs a
// single step (about 13 us in a virtual machine, against 0.7 us). endbr64 and test change nothing
// but flags, so where both are followed by the jump on the test's result, which is emulated, the
// probe goes there: registers and stack are those of the entry. Any other code keeps the entry.
uint64_t cheaper_site(int fd, uint64_t offset) {
  constexpr std::array<uint8_t, 4> endbr64{0xf3, 0x0f, 0x1e, 0xfa};
  constexpr std::array<uint8_t, 3> test_rdi{0x48, 0x85, 0xff};
  std::array<uint8_t, 16> code{};
  if (::pread(fd, code.data(), code.size(), static_cast<off_t>(offset)) !=
      static_cast<ssize_t>(code.size()))
    return offset;
  const uint8_t* at = code.data();
  if (std::equal(endbr64.begin(), endbr64.end(), at)) at += endbr64.size();
  if (!std::equal(test_rdi.begin(), test_rdi.end(), at)) return offset;
  at += test_rdi.size();
  const bool jump = *at == 0x74 || *at == 0x75 || (*at == 0x0f && (at[1] == 0x84 || at[1] == 0x85));
  return jump ? offset + static_cast<uint64_t>(at - code.data()) : offset;
}

// A probe for one process alone leaves all others untouched, but does not follow children.
std::vector<pid_t> pid_filter(const ProbeOptions& options) {
  if (options.target.follow_children || options.target.pids.empty()) return {0};
  const KernelFeatures& features = kernel_features();
  if (features.uprobe_multi && !features.uprobe_multi_pid) return {0};
  return options.target.pids;
}

// "/lib/libc.so.6: malloc calloc free+3": the file, and where the probes are.
void say_where(const std::string& file, const std::string& sites) {
  std::fprintf(stderr, "memflame: probes in %s:%s\n", file.c_str(), sites.c_str());
}

// Puts the probes on one file, if it has an allocator. Returns whether it has.
bool attach_file(Session& session, int fd, const std::string& name) {
  std::vector<std::string_view> names(functions.size());
  std::transform(functions.begin(), functions.end(), names.begin(),
                 [](const AllocFunction& function) { return function.name; });
  std::vector<UprobeSite> allocating;
  std::vector<UprobeSite> freeing;
  std::string sites_text;
  bool has_malloc = false;
  for (const ElfFunction& found : find_functions(fd, names)) {
    const auto* row =
        std::find_if(functions.begin(), functions.end(),
                     [&](const AllocFunction& function) { return function.name == found.name; });
    std::vector<UprobeSite>& sites = row->kind == bpf::fn_free ? freeing : allocating;
    has_malloc |= row->kind == bpf::fn_malloc;
    const uint64_t offset =
        row->kind == bpf::fn_free ? cheaper_site(fd, found.offset) : found.offset;
    // Aliases (memalign and aligned_alloc in musl) are one function.
    if (std::none_of(sites.begin(), sites.end(),
                     [&](const UprobeSite& site) { return site.offset == offset; })) {
      sites.push_back({offset, row->kind});
      sites_text += " " + found.name;
      if (offset != found.offset) sites_text += "+" + std::to_string(offset - found.offset);
    }
  }
  if (!has_malloc || freeing.empty()) return false;
  if (!session.first_probe_of(fd)) return true;
  if (session.options().verbose) say_where(name, sites_text);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const bool multi = session.features().uprobe_multi;
  const auto put = [&](const char* program, const std::vector<UprobeSite>& sites, bool is_return,
                       pid_t pid) {
    session.links().uprobes(session.object().program(program), path, sites, is_return, pid, multi);
  };
  for (const pid_t pid : pid_filter(session.options())) {
    // Returns before entries and frees before allocations: no call is seen to begin whose end, and
    // no block to be born whose death would be missed.
    put("memflame_alloc_return", allocating, true, pid);
    put("memflame_free_enter", freeing, false, pid);
    put("memflame_alloc_enter", allocating, false, pid);
  }
  return true;
}

bool attach_path(Session& session, const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file && attach_file(session, file.get(), path);
}

void attach_process(Session& session, pid_t pid) {
  std::string looked_at;
  bool found = false;
  for (const ModuleId id : session.spaces().modules_of(pid)) {
    const Module& module = session.spaces().module(id);
    if (module.file.get() < 0) continue;
    found |= attach_file(session, module.file.get(), module.path);
    if (looked_at.find(module.path) == std::string::npos)
      looked_at += (looked_at.empty() ? "" : ", ") + module.path;
  }
  if (!found)
    throw Error("process " + std::to_string(pid) +
                " has no malloc and free to probe (looked for their symbols in " + looked_at +
                "): a stripped static program cannot be traced by 'alloc'; try 'memflame fault'");
}

void attach(Session& session) {
  const Target& target = session.options().target;
  for (const pid_t pid : target.pids) attach_process(session, pid);
  if (!target.command.empty())
    for (const std::string& library : libraries_of(target.command[0]))
      attach_path(session, library);
  if (!target.pids.empty()) return;
  // Programs that are started later mostly use the libc that memflame uses itself.
  for (const ModuleId id : session.spaces().modules_of(::getpid())) {
    const Module& module = session.spaces().module(id);
    if (module.file.get() >= 0 && module.path.find("/libc.so") != std::string::npos)
      attach_file(session, module.file.get(), module.path);
  }
}

void attach_module(Session& session, const Module& module, bool late) {
  const UniqueFd file(::fcntl(module.file.get(), F_DUPFD_CLOEXEC, 0));
  const size_t before = session.probed_files();
  if (attach_file(session, file.get(), module.path) && late && session.probed_files() != before)
    session.count_late_attach();
}

void reconcile(Session& session, Recording& recording) {
  recording.meta.reconciliation.push_back(
      {"VmRSS growth", session.os().captured(recording, 0), session.os().growth().rss()});
  const bpf::counters counters = session.counters();
  recording.meta.notes.push_back(
      with_commas(static_cast<int64_t>(counters.events)) + " allocations (" +
      iec_bytes(static_cast<int64_t>(counters.amount)) + "), " +
      with_commas(static_cast<int64_t>(counters.frees - counters.free_misses)) +
      " of their blocks freed (" + iec_bytes(static_cast<int64_t>(counters.freed_bytes)) + ")");
}

std::span<const std::byte> object() { return {memflame_alloc_object, memflame_alloc_object_end}; }

}  // namespace

extern const Probe alloc_probe;
const Probe alloc_probe{
    .name = "alloc",
    .help = "what was allocated and not freed (malloc family, operator new)",
    .description =
        "Watches malloc, calloc, realloc, reallocarray, posix_memalign, aligned_alloc, memalign,\n"
        "valloc, pvalloc and free of the target's libc (or another allocator with these names).\n"
        "Bytes are those the program asked for. A block counts once, for the outermost call.",
    .values = values,
    .types = types,
    .object = object,
    .configure = configure,
    .attach = attach,
    .attach_module = attach_module,
    .reconcile = reconcile,
    .accounting = [](const ProbeOptions&) { return std::make_unique<Accounting>(); },
    .whole_system = false,
};

}  // namespace memflame
