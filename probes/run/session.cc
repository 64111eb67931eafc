// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/session.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.h"
#include "core/units.h"
#include "probes/run/event_feed.h"
#include "probes/run/run.h"

namespace memflame {
namespace {

constexpr uint64_t mappings_interval_ns = 2'000'000;
constexpr unsigned records_a_clock = 16;  // reading the clock takes as long as most records
constexpr int event_priority = -10;
constexpr uint64_t scan_interval_ns = 5'000'000'000;
constexpr uint64_t exec_ns = 1'000'000;  // more than execve() takes

bpf::config make_config(const ProbeOptions& options, const KernelFeatures& features,
                        const PidNamespace& pids) {
  bpf::config config{};
  config.self = static_cast<uint32_t>(pids.initial(::getpid()));
  config.pid_level = pids.level();
  config.pid_namespace = pids.inode();
  config.whole_system = options.target.whole_system();
  config.follow_children = options.target.follow_children || config.whole_system;
  config.until_exec = options.until_exec;
  config.kernel_stacks = options.kernel_stacks;
  config.wake_bytes = options.ring_bytes / 4;
  config.cpus = features.possible_cpus;
  // Programs in the kernel do not know what else a process must be.
  const bool in_kernel = !options.target.by_scan();
  config.by_comm = in_kernel && !options.target.comm.empty();
  config.by_cgroup = in_kernel && !options.target.cgroups.empty();
  config.stacks = static_cast<uint32_t>(options.stacks);
  config.max_depth = std::min<uint32_t>(options.max_depth, bpf::max_frames);
  config.copy_bytes = std::min<uint32_t>(options.copy_kib * 1024, bpf::max_copy_bytes);
  config.check_every = options.check_every;
  config.learns = features.find_vma && options.stacks == Stacks::dwarf;
  config.asks = features.find_vma;
  config.task_storage = features.task_storage;
  config.min_size = options.min_size;
  config.max_size = options.max_size;
  std::strncpy(config.comm, options.target.comm.c_str(), sizeof(config.comm) - 1);
  return config;
}

// Kernel stacks need no unwind tables of programs.
ProbeOptions options_for(const Probe& probe, const ProbeOptions& options) {
  ProbeOptions result = options;
  if (!probe.user_stacks) result.stacks = Stacks::fp;
  return result;
}

RunningProbes running(const std::vector<ProbeRun>& probes) {
  RunningProbes running;
  for (const ProbeRun& probe : probes)
    running.push_back(std::make_unique<RunningProbe>(probe, static_cast<uint32_t>(running.size())));
  return running;
}

bool begins(uint32_t reason) {
  return reason == bpf::space_fork || reason == bpf::space_exec || reason == bpf::space_found;
}

}  // namespace

Session::Session(const std::vector<ProbeRun>& probes, Observer& observer)
    : options_(options_for(*probes.front().probe, probes.front().options)),
      observer_(observer),
      probes_(running(probes)),
      processes_(options_.target, first().loaded.features.exact_rss_stat),
      stacks_(options_) {
  if (!processes_.pids().is_initial() && options_.target.whole_system() &&
      !first().probe.user_stacks)
    throw Error(
        "the kernel's memory is that of all containers, and memflame runs in a PID namespace of "
        "its own: name processes (-p, --comm, --cgroup), or run it in the initial namespace "
        "(docker run --pid=host, hostPID: true)",
        ExitCode::requirement);
  const bpf::config config = make_config(options_, first().loaded.features, processes_.pids());
  load(config);
  BpfObject& object = first().loaded.object;
  stacks_.unwinder.begin(processes_.spaces(), object);
  if (config.by_cgroup)
    for (const uint64_t id : processes_.cgroup_ids()) object.update("cgroups", id, uint32_t{1});
  ring_ = std::make_unique<Ring>(object.map("ring"), options_.ring_bytes,
                                 [this](std::span<const std::byte> record) { meet(record); });
  std::vector<LoadedProbe*> loaded;
  for (const auto& probe : probes_) loaded.push_back(&probe->loaded);
  processes_.follow_from_now();
  if (!options_.forgets_ended) processes_.os().add_up_ended();
  attach_process_programs(config, loaded);
}

// Sizes the maps and chooses the programs, then loads them.
void Session::load(bpf::config config) {
  RunningProbe& leader = first();
  BpfObject& object = leader.loaded.object;
  object.resize("ring", options_.ring_bytes);
  object.resize("sums", options_.max_stacks);
  if (leader.probe.make_tables != nullptr) object.make_soon("sums");
  object.resize("spaces", options_.max_spaces);
  if (config.by_cgroup)
    object.resize("cgroups", static_cast<uint32_t>(processes_.cgroup_ids().size()));
  choose_process_programs(config, leader.loaded);
  stacks_.unwinder.prepare(processes_.spaces(), targets_now(), object,
                           leader.loaded.features.possible_cpus, config);
  bpf::config own = config;
  leader.probe.configure(options_, own, object);
  object.load(own);
  for (size_t i = 1; i < probes_.size(); ++i) load_follower(*probes_[i], config);
}

void Session::load_follower(RunningProbe& probe, bpf::config config) {
  config.sender = probe.loaded.number * bpf::record_types;
  config.kernel_stacks = probe.options.kernel_stacks;
  BpfObject& object = probe.loaded.object;
  object.resize("sums", probe.options.max_stacks);
  follow(probe.loaded, first().loaded);
  probe.probe.configure(probe.options, config, object);
  object.load(config);
}

Session::~Session() {
  for (const auto& probe : probes_) probe->loaded.links.detach();
}

void Session::attach() {
  for (const auto& probe : probes_) {
    probe->accounting->attach(probe->loaded, processes_.spaces());
    probe->loaded.object.finish_loading();
  }
}

uint64_t Session::arm() {
  // Each space's counters begin at the figures that the OS gives now. So the sum of all changes is
  // the OS's figure at the end, whatever happens between this reading and the first event.
  BpfObject& object = first().loaded.object;
  processes_.os().read_starts([&object](uint32_t id, const OsMemory& now) {
    if (bpf::space space{}; object.lookup("spaces", id, space))
      object.update("spaces", id, space_with(now, space));
  });
  // Events fill the ring while this thread waits for a processor.
  if (options_.events) ::setpriority(PRIO_PROCESS, 0, event_priority);
  armed_ns_ = monotonic_ns();
  object.arm(true);
  armed_ = true;
  for (const auto& probe : probes_) probe->accounting->armed(armed_ns_);
  stacks_.unwinder.armed();
  for (const auto& probe : probes_) probe->loaded.object.load_rest();
  return armed_ns_;
}

void Session::disarm() {
  first().loaded.object.arm(false);
  armed_ = false;
  disarmed_ns_ = monotonic_ns();
  for (const auto& probe : probes_) probe->accounting->disarmed();
  processes_.os().read_ends();
}

void Session::poll(int timeout_ms) {
  processes_.read_log();
  ring_->fetch(timeout_ms);
  look_at_mappings();
  ring_->handle([this, handled = 0U](std::span<const std::byte> record) mutable {
    on_record(record);
    if (++handled % records_a_clock != 0 ||
        monotonic_ns() - looked_at_mappings_ns_ <= mappings_interval_ns)
      return;
    // Many copied stacks take a while. Meanwhile processes begin and map more code: the sooner the
    // programs have its tables, the fewer stacks they have to copy.
    processes_.read_log();
    ring_->fetch_more();
    look_at_mappings();
  });
  Spaces& spaces = processes_.spaces();
  stacks_.unwinder.refresh(spaces);
  for (const ModuleId id : spaces.new_modules())
    for (const auto& probe : probes_)
      if (probe->accounting->attach_module(probe->loaded, spaces.module(id)) && is_late(id))
        late_files_.add(spaces, id);
  if (armed_) {
    for (const auto& probe : probes_) probe->accounting->on_poll(probe->loaded, processes_.os());
    scan_for_targets();
  }
  processes_.poll_os();
  // If somebody looks, figures move between two looks.
  if (armed_ && !looks_ && !options_.events) take_over_ended();
}

// Whether a watched process has used the file without probes. The log tells of the mappings of a
// new program before the ring tells that it is not watched.
bool Session::is_late(ModuleId file) const {
  if (!armed_ || !options_.until_exec) return armed_;
  const std::optional<FileUser> user = processes_.spaces().user_of(file, monotonic_ns());
  if (!user) return false;
  if (const std::optional<bpf::process> process = watched(user->pid))
    return process->waits_for_exec == 0;
  // It has ended, or what it executed is not watched, and the kernel mapped that just before.
  return user->until_ns != UINT64_MAX && user->from_ns + exec_ns < user->until_ns;
}

// Processes come that the programs in the kernel cannot choose.
void Session::scan_for_targets() {
  if (!options_.target.by_scan() || monotonic_ns() < next_scan_ns_) return;
  next_scan_ns_ = monotonic_ns() + scan_interval_ns;
  add_present_targets();
}

void Session::look_at_mappings() {
  processes_.read_log();
  stacks_.unwinder.refresh(processes_.spaces());
  looked_at_mappings_ns_ = monotonic_ns();
}

// Handles some records as soon as they are taken from the ring: of a process that begins, of code
// that moves, and of code without an unwind table. Until the programs have the tables, they copy
// stacks. These records may overtake others, because their times tell what they refer to.
void Session::meet(std::span<const std::byte> data) {
  uint32_t type = 0;
  if (data.size() < sizeof(type)) return;
  std::memcpy(&type, data.data(), sizeof(type));
  if (type == bpf::record_copy && data.size() >= offsetof(bpf::copy_record, stack)) {
    const auto& copy = *reinterpret_cast<const bpf::copy_record*>(data.data());
    if (copy.unknown != 0)
      stacks_.unwinder.demand(processes_.spaces(), SpaceId{copy.space}, copy.unknown, copy.time);
    return;
  }
  if (type == bpf::record_move && data.size() >= sizeof(bpf::move_record)) {
    const auto& move = *reinterpret_cast<const bpf::move_record*>(data.data());
    processes_.spaces().move(SpaceId{move.space}, move);
    return;
  }
  bpf::space_record record{};
  if (type != bpf::record_space || data.size() < sizeof(record)) return;
  std::memcpy(&record, data.data(), sizeof(record));
  if (is_after_end(record)) return;
  for (const auto& probe : probes_) probe->accounting->on_process(record);
  if (!begins(record.reason)) return;
  processes_.begin(record);
  stacks_.unwinder.refresh(processes_.spaces());
}

void Session::on_record(std::span<const std::byte> record) {
  const size_t size = record.size();
  uint32_t type = 0;
  if (size < sizeof(type)) return;
  std::memcpy(&type, record.data(), sizeof(type));
  const void* data = record.data();
  RunningProbe* const probe = sender(type);
  if (probe == nullptr) return;
  type %= bpf::record_types;
  if (type == bpf::record_stack)
    stacks_.announced(processes_.spaces(), *static_cast<const bpf::stack_record*>(data), size);
  else if (type == bpf::record_space && size >= sizeof(bpf::space_record))
    on_space(*static_cast<const bpf::space_record*>(data));
  else if (type == bpf::record_event && size >= sizeof(bpf::event_record))
    probe->accounting->on_event(*static_cast<const bpf::event_record*>(data));
  else if (type == bpf::record_amount && size >= sizeof(bpf::amount_record))
    stacks_.log.add(probe->loaded.number, *static_cast<const bpf::amount_record*>(data));
  else if (type == bpf::record_script)
    StackIntake::script(processes_.spaces(), *static_cast<const bpf::script_code_record*>(data),
                        size);
  else if (type == bpf::record_chain)
    stacks_.chained(record);
  else if (type == bpf::record_call && size >= sizeof(bpf::call_record))
    on_call(*probe, *static_cast<const bpf::call_record*>(data));
  else if (type >= bpf::record_own)
    probe->accounting->on_own_record(record);
  else if (type == bpf::record_copy)
    stacks_.copied(processes_.spaces(), record);
}

RunningProbe* Session::sender(uint32_t type) const {
  const size_t number = type / bpf::record_types;
  return number < probes_.size() ? probes_[number].get() : nullptr;
}

void Session::on_call(const RunningProbe& probe, const bpf::call_record& record) {
  observer_.called(record, probe.accounting->function_of(record));
}

bool Session::wants_end() const {
  return std::any_of(probes_.begin(), probes_.end(),
                     [](const auto& probe) { return probe->accounting->wants_end(); });
}

// Nothing is counted after the end, so what begins or ends then is not part of the run: its figures
// of the OS would have no counterpart. The programs follow processes until they are detached.
bool Session::is_after_end(const bpf::space_record& record) const {
  return disarmed_ns_ != 0 && record.time > disarmed_ns_;
}

void Session::on_space(const bpf::space_record& record) {
  if (is_after_end(record)) return;
  const SpaceId id{record.space};
  if (record.reason == bpf::space_left) return observer_.left(record);
  if (record.reason == bpf::space_borrow || record.reason == bpf::space_return) return;
  if (record.reason == bpf::space_unmapped)
    return stacks_.unwinder.code_unmapped(processes_.spaces(), id, record.time);
  if (record.reason == bpf::space_end) {
    stacks_.unwinder.ended(record);
    stacks_.unwinder.release(id);
    processes_.spaces().scripts().forget(id);
  }
  EventFeed* const events = first().accounting->events();
  if (record.reason == bpf::space_end && events != nullptr) events->end(id, record.time);
  processes_.take(record);
  for (const auto& probe : probes_) {
    if (record.reason == bpf::space_fork)
      probe->accounting->fork(SpaceId{record.parent_space}, id);
    else if (begins(record.reason))
      probe->accounting->begin(id, static_cast<pid_t>(record.tgid),
                               record.reason == bpf::space_exec);
  }
}

}  // namespace memflame
