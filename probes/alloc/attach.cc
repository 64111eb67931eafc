// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/attach.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "core/error.h"
#include "core/unique_fd.h"
#include "probes/alloc/alloc_run.h"
#include "probes/alloc/attaching/uprobe_means.h"
#include "probes/alloc/custom/usdt.h"
#include "probes/alloc/finding/allocators.h"
#include "probes/alloc/finding/code.h"
#include "probes/loading/loaded_probe.h"
#include "probes/processes/program_files.h"
#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

struct LookedAt {
  int fd = -1;
  std::string path;
  std::string root;  // the target's root directory
};

// Functions that never call another probed function. If a call of these is not sampled, its end
// need not be followed. Sources: the code of glibc 2.36, jemalloc 5.3 and gperftools 2.10. If an
// entry is wrong, a call nested in one that is not sampled counts as the program's.
bool is_leaf(const std::string& allocator, const std::string& function) {
  constexpr std::array<std::string_view, 7> glibc{
      "malloc", "calloc", "memalign", "aligned_alloc", "valloc", "pvalloc", "posix_memalign"};
  if (allocator == "jemalloc" || allocator == "tcmalloc") return true;
  if (allocator == "musl") return function == "malloc";
  return allocator == "glibc" && std::find(glibc.begin(), glibc.end(), function) != glibc.end();
}

bpf::usable_size usable_of(const std::string& allocator, const std::string& function) {
  if (allocator == "glibc") return bpf::usable_glibc;
  // mallocx(), rallocx() and their prefixed names take flags.
  if (allocator == "jemalloc")
    return function.ends_with("allocx") ? bpf::usable_jemalloc_flags : bpf::usable_jemalloc;
  return bpf::usable_unknown;
}

// "malloc+7" -> "malloc".
std::string function_of(const std::string& site) { return site.substr(0, site.find('+')); }

int attach_order(const AllocatorSite& site) {
  constexpr std::array<int, 6> ranks{0, 3, 1, 2, 0, 0};  // by enum call_action
  return site.shape.action < ranks.size() ? ranks.at(site.shape.action) : 0;
}

// A function that the user declared replaces one found at the same place.
AllocatorProbes merged(AllocatorProbes custom, const AllocatorProbes& found) {
  const size_t declared = custom.sites.size();
  for (const AllocatorSite& site : found.sites) {
    const auto end = custom.sites.begin() + static_cast<std::ptrdiff_t>(declared);
    const bool known = std::any_of(custom.sites.begin(), end, [&](const AllocatorSite& other) {
      return other.offset == site.offset;
    });
    if (known) continue;
    AllocatorSite moved = site;
    moved.shape.allocator = static_cast<uint16_t>(site.shape.allocator + custom.allocators.size());
    custom.sites.push_back(moved);
  }
  custom.allocators.insert(custom.allocators.end(), found.allocators.begin(),
                           found.allocators.end());
  custom.notes.insert(custom.notes.end(), found.notes.begin(), found.notes.end());
  std::stable_sort(custom.sites.begin(), custom.sites.end(),
                   [](const auto& a, const auto& b) { return attach_order(a) < attach_order(b); });
  return custom;
}

bool is_stepped(int fd, uint64_t offset, bool long_nops) {
  std::array<std::byte, 16> code{};
  if (::pread(fd, code.data(), code.size(), static_cast<off_t>(offset)) <= 0) return true;
  const std::optional<Instruction> instruction = decode(code, offset, long_nops);
  return !instruction || instruction->cost != ProbeCost::emulated;
}

void number(AllocRun& run, LoadedProbe& probe, AllocatorProbes& probes, const LookedAt& at) {
  for (AllocatorSite& site : probes.sites) {
    const std::string& allocator = probes.allocators.at(site.shape.allocator);
    const std::string name = function_of(site.text);
    const bool gives = site.shape.action == bpf::action_allocate;
    site.shape.function = run.number_of({.name = name,
                                         .allocator = allocator,
                                         .file = at.path,
                                         .gives = gives,
                                         .declared = site.declared});
    site.shape.stepped = is_stepped(at.fd, site.offset, probe.features.emulates_long_nops);
    site.shape.leaf = is_leaf(allocator, name);
    site.shape.usable = static_cast<unsigned>(usable_of(allocator, name)) & 3U;
    for (const uint64_t offset : site.own_calls) {
      const bpf::own_call call{.function = static_cast<uint32_t>(site.shape.function),
                               .distance = static_cast<int32_t>(offset - site.offset)};
      probe.object.update("own_calls", call, uint32_t{1});
    }
  }
}

// What gives the descriptor of a program, and waits until it is loaded.
std::function<int()> program_of(LoadedProbe& probe, const char* name) {
  return [&probe, name] { return bpf_program__fd(probe.object.program(name)); };
}

// Attaches the probes to the watched processes, or to all that use the file.
void put_on(AllocRun& run, LoadedProbe& probe, int fd, std::vector<Put> puts) {
  if (run.options().own_links)
    return run.process_links().add({UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)), std::move(puts)});
  for (const Put& put : puts)
    if (!put.sites.empty())
      probe.links.uprobes(put.program(), "/proc/self/fd/" + std::to_string(fd), put.sites, put.kind,
                          0);
}

// `sites` are in the order to attach them (allocators.h): each list made of them keeps it.
void put_probes(AllocRun& run, LoadedProbe& probe, const std::vector<AllocatorSite>& sites,
                int fd) {
  std::vector<UprobeSite> all, returning, frees, others, of_go;
  for (const AllocatorSite& site : sites) {
    const UprobeSite where{site.offset, std::bit_cast<uint64_t>(site.shape)};
    const auto action = site.shape.action;
    (action == bpf::action_free_go ? of_go : all).push_back(where);
    const bool returns = action == bpf::action_allocate && !site.shape.own_end;
    (returns ? returning : action == bpf::action_free ? frees : others).push_back(where);
  }
  const bool own_links = run.options().own_links;
  const UprobeMeans means = uprobe_means(own_links, probe.features);
  const UprobeKind returns = means.multi ? UprobeKind::multi_returns : UprobeKind::returns;
  const UprobeKind entry = means.multi ? UprobeKind::multi_entry : UprobeKind::entry;
  const auto enter = program_of(probe, "memflame_alloc_enter");
  const auto both = program_of(probe, "memflame_alloc_session");
  if (means.session && !own_links)
    return put_on(run, probe, fd, {{enter, entry, of_go}, {both, UprobeKind::session, all}});
  const auto leave = program_of(probe, "memflame_alloc_return");
  // Returns are attached before entries, so that the end of every call that is seen to begin is
  // seen, too.
  if (!means.session)
    return put_on(run, probe, fd,
                  {{enter, entry, of_go}, {leave, returns, returning}, {enter, entry, all}});
  // A session link makes all calls return through the kernel, also in processes that it is not for.
  // A C++ exception cannot pass there, so a session link gets only the functions with a return
  // probe.
  put_on(run, probe, fd,
         {{enter, entry, others, PutFor::each},
          {program_of(probe, "memflame_alloc_free"), entry, frees, PutFor::each},
          {both, UprobeKind::session, returning, PutFor::first},
          {leave, returns, returning, PutFor::others},
          {enter, entry, returning, PutFor::others}});
}

// Remembers where the file throws exceptions. __cxa_throw is in the C++ library, or in a static
// program itself.
void remember_throws(AllocRun& run, const AllocatorProbes& probes, const LookedAt& at,
                     const FindOptions& find) {
  const bool may_throw =
      std::any_of(probes.sites.begin(), probes.sites.end(),
                  [](const AllocatorSite& site) { return site.shape.own_end != 0; });
  run.has_throwing_calls |= may_throw;
  const bool is_library =
      at.path.find("libstdc++") != std::string::npos || at.path.find("libc++") != std::string::npos;
  if (!may_throw && !is_library) return;
  if (const std::optional<AllocatorSite> site = find_throw(at.fd, find))
    run.throw_sites().push_back({UniqueFd(::fcntl(at.fd, F_DUPFD_CLOEXEC, 0)), *site});
}

void probe_throws(AllocRun& run, LoadedProbe& probe) {
  if (!run.has_throwing_calls) return;
  for (const AllocRun::ThrowSite& each : run.throw_sites())
    put_probes(run, probe, {each.site}, each.file.get());
  run.throw_sites().clear();
}

// "/lib/libc.so.6 (glibc): malloc calloc free+3".
void say_where(const AllocatorProbes& probes, const std::string& path) {
  std::string text;
  for (const std::string& allocator : probes.allocators)
    text += (text.empty() ? " (" : ", ") + allocator;
  text += text.empty() ? ":" : "):";
  for (const AllocatorSite& site : probes.sites) text += " " + site.text;
  if (!probes.sites.empty())
    std::fprintf(stderr, "memflame: probes in %s%s\n", path.c_str(), text.c_str());
  for (const std::string& note : probes.notes)
    std::fprintf(stderr, "memflame: %s: %s\n", path.c_str(), note.c_str());
}

// A program that samples its own blocks and reports them (usdt.h) is cheap to watch, so its probes
// replace those on its allocator. Returns whether it has such probes.
bool attach_usdt(AllocRun& run, LoadedProbe& probe, const LookedAt& at) {
  const UsdtPair pair = find_usdt_pair(at.fd);
  if (run.options().verbose)
    for (const std::string& problem : pair.problems)
      std::fprintf(stderr, "memflame: %s: %s\n", at.path.c_str(), problem.c_str());
  if (!pair.offered()) return false;
  if (!pair.overwriting.empty() && turns_nops_into_calls())
    throw Error(
        at.path + ": the USDT probe " + pair.overwriting.front() +
            " is a nop of five bytes, which this kernel turns into a call that overwrites the "
            "function's data below its stack pointer (its red zone): build the program with "
            "-mno-red-zone or with nops of one byte, or watch its malloc only, with --obj libc.so",
        ExitCode::requirement);
  const bool multi = uprobe_means(run.options().own_links, probe.features).multi;
  const auto put = [&](const char* program, const std::vector<UsdtSite>& sites) {
    std::vector<UprobeSite> probes;
    for (const UsdtSite& site : sites) {
      const uint32_t number = run.next_usdt_site();
      if (number >= bpf::max_usdt_sites)
        throw Error("the target offers more than " + std::to_string(bpf::max_usdt_sites) +
                    " USDT probes of otel_memory");
      probe.object.update("usdt_sites", number, site.site);
      probes.push_back({.offset = site.offset, .cookie = number, .counter = site.counter});
    }
    return Put{program_of(probe, program), multi ? UprobeKind::multi_entry : UprobeKind::entry,
               probes};
  };
  put_on(run, probe, at.fd,
         {put("memflame_usdt_free", pair.free), put("memflame_usdt_alloc", pair.alloc)});
  if (run.options().verbose)
    std::fprintf(stderr, "memflame: %s samples its blocks itself (otel_memory:alloc, free)\n",
                 at.path.c_str());
  run.target_samples();
  return true;
}

// Attaches the probes to one file. Returns whether it has an allocator.
bool attach_file(AllocRun& run, LoadedProbe& probe, const LookedAt& at) {
  AllocRun::File& known = run.file(at.fd);
  if (known.looked_at) return known.allocates;
  known.looked_at = true;
  if (at.path == run.options().passed_over) return false;
  const AllocOptions& options = run.own();
  if (!options.object.empty() && !means_file(options.object, at.fd, at.path)) return false;
  const FindOptions find{.symbols_prefix = options.symbols_prefix,
                         .check = options.check,
                         .long_nops = probe.features.emulates_long_nops,
                         .path = at.path,
                         .root = at.root};
  AllocatorProbes probes = find_allocator(at.fd, find);
  if (!run.custom().empty()) {
    CustomFile custom = find_custom(run.custom(), at.fd, find);
    probes = merged(custom.probes, probes);
    run.found_custom(at.fd, at.path, std::move(custom));
  }
  const bool speaks_for_itself = attach_usdt(run, probe, at);
  if (speaks_for_itself) probes = {};
  known.allocates = speaks_for_itself || probes.allocates();
  number(run, probe, probes, at);
  if (run.options().verbose) say_where(probes, at.path);
  if (!probes.sites.empty()) put_probes(run, probe, probes.sites, at.fd);
  for (const AllocatorSite& site : probes.sites) run.probed(site.shape.function);
  remember_throws(run, probes, at, find);
  return known.allocates;
}

bool attach_path(AllocRun& run, LoadedProbe& probe, const std::string& path) {
  const UniqueFd file = open_file(path);
  return file && attach_file(run, probe, {file.get(), path, ""});
}

// True if a file of the process has an allocator. Adds the files that were searched to `looked_at`.
bool attach_process(AllocRun& run, LoadedProbe& probe, Spaces& spaces, pid_t pid,
                    std::string& looked_at) {
  bool found = false;
  for (const ModuleId id : spaces.modules_of(pid)) {
    const Module& module = spaces.module(id);
    if (module.file.get() < 0) continue;
    found |= attach_file(run, probe, {module.file.get(), module.path, module.root});
    if (looked_at.find(module.path) == std::string::npos)
      looked_at += (looked_at.empty() ? "" : ", ") + module.path;
  }
  return found;
}

[[noreturn]] void refuse(const AllocRun& run, pid_t pid, const std::string& looked_at) {
  if (!is_alive(pid)) throw Error("process " + std::to_string(pid) + " has already exited");
  if (!run.own().object.empty())
    throw Error("--obj " + run.own().object + ": process " + std::to_string(pid) +
                " has no such file with an allocator (it maps " + looked_at + ")");
  throw Error("process " + std::to_string(pid) +
              " has no malloc and free to probe (looked for their symbols in " + looked_at +
              "): name its functions with --alloc and --free, or try 'memflame fault'");
}

}  // namespace

void attach_allocators(AllocRun& run, LoadedProbe& probe, Spaces& spaces) {
  const Target& target = run.options().target;
  for (const pid_t pid : target.pids) {
    std::string looked_at;
    if (!attach_process(run, probe, spaces, pid, looked_at) && run.custom().empty())
      refuse(run, pid, looked_at);
  }
  if (!target.command.empty())
    for (const std::string& file : files_of_command(target)) attach_path(run, probe, file);
  // Programs that start later mostly use the same libc as memflame.
  if (target.pids.empty())
    for (const ModuleId id : spaces.modules_of(::getpid())) {
      const Module& module = spaces.module(id);
      if (module.file.get() >= 0 && module.path.find("/libc.so") != std::string::npos)
        attach_file(run, probe, {module.file.get(), module.path, module.root});
    }
  probe_throws(run, probe);
  run.require_custom();
}

bool attach_allocators_of(AllocRun& run, LoadedProbe& probe, const Module& module) {
  const UniqueFd file(::fcntl(module.file.get(), F_DUPFD_CLOEXEC, 0));
  if (!file || run.file(file.get()).looked_at) return false;
  const bool found = attach_file(run, probe, {file.get(), module.path, module.root});
  probe_throws(run, probe);
  return found;
}

}  // namespace memflame
