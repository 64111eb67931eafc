// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/units.h"
#include "probes/run/losses.h"
#include "probes/run/run.h"
#include "probes/run/run_notes.h"

namespace memflame {
namespace {

constexpr uint64_t mappings_interval_ns = 2'000'000;

bpf::config make_config(const ProbeOptions& options, const KernelFeatures& features,
                        const PidNamespace& pids) {
  bpf::config config{};
  config.self = static_cast<uint32_t>(pids.initial(::getpid()));
  config.pid_level = pids.level();
  config.pid_namespace = pids.inode();
  config.whole_system = options.target.whole_system();
  config.follow_children = options.target.follow_children || config.whole_system;
  config.kernel_stacks = options.kernel_stacks;
  config.wake_bytes = options.ring_bytes / 4;
  config.cpus = features.possible_cpus;
  config.by_comm = !options.target.comm.empty();
  config.by_cgroup = !options.target.cgroups.empty();
  config.stacks = static_cast<uint32_t>(options.stacks);
  config.max_depth = std::min<uint32_t>(options.max_depth, bpf::max_frames);
  config.copy_bytes = std::min<uint32_t>(options.copy_kib * 1024, bpf::max_copy_bytes);
  config.check_every = options.check_every;
  config.learns = features.find_vma && options.stacks == Stacks::dwarf;
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

bool begins(uint32_t reason) {
  return reason == bpf::space_fork || reason == bpf::space_exec || reason == bpf::space_found;
}

}  // namespace

Session::Session(const Probe& probe, const ProbeOptions& options, Observer& observer)
    : probe_(probe),
      options_(options_for(probe, options)),
      observer_(observer),
      loaded_(probe.object()),
      processes_(options.target, loaded_.features.exact_rss_stat),
      accounting_(probe.accounting(options)),
      stacks_(options_) {
  if (!processes_.pids().is_initial() && options_.target.whole_system() && !probe.user_stacks)
    throw Error(
        "the kernel's memory is that of all containers, and memflame runs in a PID namespace of "
        "its own: name processes (-p, --comm, --cgroup), or run it in the initial namespace "
        "(docker run --pid=host, hostPID: true)",
        ExitCode::requirement);
  bpf::config config = make_config(options_, loaded_.features, processes_.pids());
  prepare(config);
  loaded_.object.load(config);
  stacks_.unwinder.begin(processes_.spaces(), loaded_.object);
  for (const uint64_t id : processes_.cgroup_ids())
    loaded_.object.update("cgroups", id, uint32_t{1});
  ring_ = std::make_unique<Ring>(loaded_.object.map("ring"), options_.ring_bytes,
                                 [this](std::span<const std::byte> record) { meet(record); });
  attach_process_programs(config, loaded_);
}

// Sizes the maps and chooses the programs, before anything is loaded.
void Session::prepare(bpf::config& config) {
  BpfObject& object = loaded_.object;
  object.resize("ring", options_.ring_bytes);
  object.resize("sums", options_.max_stacks);
  object.resize("spaces", options_.max_spaces);
  if (config.by_cgroup)
    object.resize("cgroups", static_cast<uint32_t>(processes_.cgroup_ids().size()));
  choose_process_programs(config, loaded_);
  probe_.configure(options_, config, object);
  stacks_.unwinder.prepare(processes_.spaces(), targets_now(), object,
                           loaded_.features.possible_cpus, config);
}

Session::~Session() { loaded_.links.detach(); }

// A probe whose stacks belong to no process need not follow all processes of the system.
std::vector<pid_t> Session::targets_now() const {
  if (options_.target.whole_system() && !probe_.user_stacks) return {};
  return processes_.present();
}

void Session::add_target(pid_t pid, bool waits_for_exec) {
  if (waits_for_exec) processes_.pids().look();  // the process is new
  const auto tgid = static_cast<uint32_t>(processes_.pids().initial(pid));
  if (tgid == 0) return;  // it has ended
  BpfObject& object = loaded_.object;
  bpf::process process{};
  process.waits_for_exec = waits_for_exec;
  if (!waits_for_exec) {
    bpf::process known{};
    if (object.lookup("processes", tgid, known)) return;  // followed since its fork
    process.space = object.new_space();
    const SpaceId space{process.space};
    process.code = stacks_.unwinder.claim(space);
    object.update("spaces", process.space, bpf::space{});
    processes_.adopt(space, pid);
    accounting_->begin(space, pid, false);
  }
  object.update("processes", tgid, process);
  accounting_->on_target(pid);
}

void Session::add_present_targets() {
  processes_.pids().look();
  for (const pid_t pid : targets_now()) add_target(pid, false);
}

void Session::attach() { accounting_->attach(loaded_, processes_.spaces()); }

void Session::arm() {
  // Each space's counters begin at the figures that the OS gives now. So the sum of all changes is
  // the OS's figure at the end, whatever happens between this reading and the first event.
  processes_.os().read_starts([this](uint32_t id, const OsMemory& now) {
    bpf::space space{};
    if (!loaded_.object.lookup("spaces", id, space)) return;
    space.rss[0] = now.rss_file / page_bytes;
    space.rss[1] = now.rss_anon / page_bytes;
    space.rss[3] = now.rss_shmem / page_bytes;
    loaded_.object.update("spaces", id, space);
  });
  armed_ns_ = monotonic_ns();
  loaded_.object.arm(true);
  armed_ = true;
  accounting_->armed();
}

void Session::disarm() {
  loaded_.object.arm(false);
  armed_ = false;
  accounting_->disarmed();
  processes_.os().read_ends();
}

void Session::poll(int timeout_ms) {
  processes_.read_log();
  ring_->fetch(timeout_ms);
  look_at_mappings();
  ring_->handle([this](std::span<const std::byte> record) {
    on_record(record);
    if (monotonic_ns() - looked_at_mappings_ns_ <= mappings_interval_ns) return;
    // Many copied stacks take a while. Meanwhile processes begin and map more code: the sooner the
    // programs have its tables, the fewer stacks they have to copy.
    processes_.read_log();
    ring_->fetch_more();
    look_at_mappings();
  });
  Spaces& spaces = processes_.spaces();
  stacks_.unwinder.refresh(spaces);
  for (const ModuleId id : spaces.new_modules())
    if (accounting_->attach_module(loaded_, spaces.module(id)) && armed_) ++late_attaches_;
  if (armed_) accounting_->on_poll(loaded_, processes_.os());
  processes_.poll_os();
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
  accounting_->on_process(record);
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
  if (type == bpf::record_stack)
    stacks_.announced(processes_.spaces(), *static_cast<const bpf::stack_record*>(data), size);
  else if (type == bpf::record_space && size >= sizeof(bpf::space_record))
    on_space(*static_cast<const bpf::space_record*>(data));
  else if (type == bpf::record_event && size >= sizeof(bpf::event_record))
    accounting_->on_event(*static_cast<const bpf::event_record*>(data));
  else if (type == bpf::record_amount && size >= sizeof(bpf::amount_record))
    stacks_.log.add(*static_cast<const bpf::amount_record*>(data));
  else if (type == bpf::record_call && size >= sizeof(bpf::call_record))
    on_call(*static_cast<const bpf::call_record*>(data));
  else if (type >= bpf::record_own)
    accounting_->on_own_record(record);
  else if (type == bpf::record_copy)
    stacks_.copied(processes_.spaces(), record);
}

void Session::on_call(const bpf::call_record& record) {
  observer_.called(record, accounting_->function_of(record));
}

void Session::on_space(const bpf::space_record& record) {
  const SpaceId id{record.space};
  if (record.reason == bpf::space_borrow || record.reason == bpf::space_return) return;
  if (record.reason == bpf::space_unmapped)
    return stacks_.unwinder.code_unmapped(processes_.spaces(), id, record.time);
  if (record.reason == bpf::space_end) stacks_.unwinder.release(id);
  processes_.take(record);
  if (record.reason == bpf::space_fork)
    accounting_->fork(SpaceId{record.parent_space}, id);
  else if (begins(record.reason))
    accounting_->begin(id, static_cast<pid_t>(record.tgid), record.reason == bpf::space_exec);
}

SnapshotSource Session::snapshot_source() {
  return {.probe = loaded_,
          .accounting = *accounting_,
          .stacks = stacks_.log,
          .processes = processes_,
          .has_spaces = probe_.user_stacks,
          .catch_up = [this] { poll(0); }};
}

Look Session::look(History& history, bool survey) {
  if (!looks_) {
    looks_.emplace(types(), armed_ns_);
    history.recording.types = types();
    history.recording.shown = value_named(probe_, options_.value).column;
    history.gauges = os_gauges();
  }
  Look look = looks_->take(snapshot_source(), history, survey && probe_.has_blocks);
  processes_.spaces().copy_to(history.recording, false);
  return look;
}

TrackId Session::track_of(uint64_t key) const {
  return looks_ ? looks_->track_of(stacks_.log, key) : TrackId{};
}

Snapshot Session::snapshot(const SnapshotOptions& options) {
  Snapshot snapshot = take_snapshot(snapshot_source(), options);
  snapshot.losses = losses();
  return snapshot;
}

Recording Session::recording_of(std::span<const LiveStack* const> stacks, bool by_count) {
  Recording recording;
  show_live(recording, stacks, by_count, accounting_->is_sampled());
  recording.meta.sampling = accounting_->sampling_in_words();
  recording.losses = losses();
  processes_.spaces().copy_to(recording);
  return recording;
}

Losses Session::losses() const {
  Losses losses = losses_of(loaded_.object.counters());
  losses.add(Loss::mapping_records_lost, processes_.log_records_lost());
  losses.add(Loss::late_attach, late_attaches_);
  losses.add(Loss::unwind_table_full, stacks_.unwinder.tables().no_room);
  losses.add(Loss::code_list_full, stacks_.unwinder.refused());
  // An interrupt inside of one of the kernel's allocators may allocate, too: programs are skipped.
  if (!probe_.user_stacks) losses.add(Loss::probe_recursion, loaded_.object.skipped());
  accounting_->add_losses(losses);
  return losses;
}

std::vector<ValueType> Session::types() const {
  ProbeOptions named = options_;
  named.value = value_named(probe_, options_.value).name;
  return probe_.types(named, accounting_->is_sampled());
}

Recording Session::sums() {
  Recording recording;
  recording.types = types();
  recording.shown = value_named(probe_, options_.value).column;
  if (!processes_.pids().is_initial() && options_.target.whole_system())
    recording.meta.notes.emplace_back(
        "only the processes of memflame's own PID namespace were watched: others cannot be seen "
        "from there");
  RecordingRows rows(recording, stacks_.log);
  accounting_->finish(loaded_, rows);
  accounting_->reconcile(loaded_, processes_.os(), recording);
  recording.losses.add(losses());
  return recording;
}

Recording Session::so_far() {
  poll(0);
  Recording recording = sums();
  recording.meta.reconciliation.clear();
  recording.meta.notes = filters_in_words(options_);
  processes_.spaces().copy_to(recording);
  return recording;
}

Recording Session::finish() {
  poll(0);
  processes_.spaces().settle();
  Recording recording = sums();
  std::vector<std::string>& notes = recording.meta.notes;
  if (const size_t count = processes_.os().approximate(); count != 0)
    notes.push_back("figures of " + std::to_string(count) +
                    " killed process(es) are from up to 0.2 s before the end");
  loaded_.links.detach();
  processes_.spaces().finish(recording);
  for (std::string& note : filters_in_words(options_)) notes.push_back(std::move(note));
  for (std::string& note : processes_.deaths().notes()) notes.push_back(std::move(note));
  accounting_->judge(recording);
  return recording;
}

void Session::describe(RunInfo& info) const {
  info.counters = counters();
  info.features = features();
  info.map_bytes = map_memory();
  info.mode = options_.stacks;
  info.stacks = stacks_.unwinder.statistics(info.counters);
  info.tables = stacks_.unwinder.tables();
  info.cache_problem = stacks_.unwinder.cache_problem();
  info.pids = processes_.os().pids();
  info.os_growth = processes_.os().growth();
  info.without_end = processes_.os().without_figures();
  accounting_->describe(info);
}

}  // namespace memflame
