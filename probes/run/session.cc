// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/session.h"

#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/units.h"
#include "probes/run/run_notes.h"

namespace memflame {
namespace {

constexpr uint64_t os_reading_interval_ns = 200'000'000;
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

// Stacks of the kernel need no unwind tables of programs.
ProbeOptions options_for(const Probe& probe, const ProbeOptions& options) {
  ProbeOptions result = options;
  if (!probe.user_stacks) result.stacks = Stacks::fp;
  return result;
}

bool begins(uint32_t reason) {
  return reason == bpf::space_fork || reason == bpf::space_exec || reason == bpf::space_found;
}

// The processes that are targets when the run begins. What belongs to no process is not followed
// through all of them.
std::vector<pid_t> present_targets(const Probe& probe, const Target& target,
                                   const std::optional<Cgroups>& cgroups) {
  if (target.whole_system() && !probe.user_stacks) return {};
  if (!target.whole_system() && target.comm.empty() && !cgroups) return target.pids;
  std::vector<pid_t> pids;
  for (const pid_t pid : cgroups ? cgroups->pids() : all_pids())
    if (pid != ::getpid() && (target.comm.empty() || read_comm(pid) == target.comm) &&
        has_address_space(pid))
      pids.push_back(pid);
  return pids;
}

}  // namespace

Session::Session(const Probe& probe, const ProbeOptions& options)
    : probe_(probe),
      options_(options_for(probe, options)),
      features_(kernel_features()),
      object_(probe.object()),
      accounting_(probe.accounting(options)),
      unwinder_(options_),
      os_(features_.exact_rss_stat) {
  spaces_.set_log([this] { read_log(); });
  if (!pids_.is_initial() && options_.target.whole_system() && !probe.user_stacks)
    throw Error(
        "the kernel's memory is that of all containers, and memflame runs in a PID namespace of "
        "its own: name processes (-p, --comm, --cgroup), or run it in the initial namespace "
        "(docker run --pid=host, hostPID: true)",
        ExitCode::requirement);
  bpf::config config = make_config(options_, features_, pids_);
  object_.resize("ring", options.ring_bytes);
  object_.resize("sums", options.max_stacks);
  object_.resize("spaces", options.max_spaces);
  if (!options.target.cgroups.empty()) cgroups_.emplace(options.target.cgroups);
  if (cgroups_) object_.resize("cgroups", static_cast<uint32_t>(cgroups_->ids().size()));
  if (!config.by_comm) object_.leave_out("memflame_rename");
  if (!config.by_cgroup) object_.leave_out("memflame_cgroup_attach");
  if (!features_.syscall_tracepoints)
    for (const char* program :
         {"memflame_exit_group", "memflame_munmap", "memflame_map_over", "memflame_move"})
      object_.leave_out(program);
  probe.configure(options_, config, object_);
  if (!options_.check_file.empty()) dump_.emplace(options_.check_file);
  unwinder_.prepare(spaces_, present_targets(probe, options_.target, cgroups_), object_,
                    features_.possible_cpus, config);
  object_.load(config);
  unwinder_.begin(spaces_, object_);
  if (cgroups_)
    for (const uint64_t id : cgroups_->ids()) object_.update("cgroups", id, uint32_t{1});
  ring_ = ring_buffer__new(object_.map("ring"), keep_record, this, nullptr);
  if (ring_ == nullptr)
    throw Error(std::string("the ring buffer cannot be mapped: ") + std::strerror(errno));
  // Exit before exec before fork: a process that is born while we attach is seen to end, too.
  links_.raw_tracepoint(object_.program("memflame_exit"), "sched_process_exit");
  if (features_.syscall_tracepoints) {
    links_.tracepoint(object_.program("memflame_exit_group"), "syscalls", "sys_enter_exit_group");
    links_.tracepoint(object_.program("memflame_munmap"), "syscalls", "sys_exit_munmap");
    links_.tracepoint(object_.program("memflame_map_over"), "syscalls", "sys_exit_mmap");
    links_.tracepoint(object_.program("memflame_move"), "syscalls", "sys_exit_mremap");
  }
  links_.raw_tracepoint(object_.program("memflame_exec"), "sched_process_exec");
  links_.raw_tracepoint(object_.program("memflame_fork"), "sched_process_fork");
  if (config.by_comm) links_.raw_tracepoint(object_.program("memflame_rename"), "task_rename");
  if (cgroups_)
    links_.raw_tracepoint(object_.program("memflame_cgroup_attach"), "cgroup_attach_task");
}

Session::~Session() {
  links_.detach();
  ring_buffer__free(ring_);
}

void Session::add_target(pid_t pid, bool waits_for_exec) {
  if (waits_for_exec) pids_.look();  // it is new
  const auto tgid = static_cast<uint32_t>(pids_.initial(pid));
  if (tgid == 0) return;  // it has ended
  bpf::process process{};
  process.waits_for_exec = waits_for_exec;
  if (!waits_for_exec) {
    bpf::process known{};
    if (object_.lookup("processes", tgid, known)) return;  // followed since its fork
    process.space = object_.new_space();
    process.code = unwinder_.claim(SpaceId{process.space});
    object_.update("spaces", process.space, bpf::space{});
    spaces_.adopt(SpaceId{process.space}, pid, monotonic_ns());
    if (cgroups_) place(SpaceId{process.space}, cgroups_->id_of(pid));
    os_.adopt(SpaceId{process.space}, pid);
    accounting_->begin(SpaceId{process.space}, pid, false);
  }
  object_.update("processes", tgid, process);
  accounting_->on_target(pid);
}

void Session::add_present_targets() {
  pids_.look();
  for (const pid_t pid : present_targets(probe_, options_.target, cgroups_)) add_target(pid, false);
}

void Session::attach() { accounting_->attach(*this); }

void Session::arm() {
  // The counters begin at the figures the OS gives now, so the sum of all changes is what the OS
  // says at the end, whatever happens between this reading and the first event.
  os_.read_starts([this](uint32_t id, const OsMemory& now) {
    bpf::space space{};
    if (!object_.lookup("spaces", id, space)) return;
    space.rss[0] = now.rss_file / page_bytes;
    space.rss[1] = now.rss_anon / page_bytes;
    space.rss[3] = now.rss_shmem / page_bytes;
    object_.update("spaces", id, space);
  });
  object_.arm(true);
  armed_ = true;
  accounting_->armed();
}

void Session::disarm() {
  object_.arm(false);
  armed_ = false;
  accounting_->disarmed();
  os_.read_ends();
}

void Session::poll(int timeout_ms) {
  read_log();
  ring_buffer__poll(ring_, waiting_.empty() ? timeout_ms : 0);
  // Wake-ups are only asked for when the ring fills: take what is there in any case.
  ring_buffer__consume(ring_);
  look_at_mappings();
  std::swap(waiting_, handling_);
  for (std::span<const std::byte> rest = handling_; !rest.empty();) {
    size_t size = 0;
    std::memcpy(&size, rest.data(), sizeof(size));
    on_record(rest.subspan(sizeof(size), size));
    rest = rest.subspan(sizeof(size) + size);
    // Many copied stacks take a while, in which processes begin and more is mapped: the sooner the
    // programs know, the fewer have to be copied.
    if (monotonic_ns() - looked_at_mappings_ns_ > mappings_interval_ns) look_at_ring();
  }
  handling_.clear();
  unwinder_.refresh(spaces_);
  for (const ModuleId id : spaces_.new_modules())
    accounting_->attach_module(*this, spaces_.module(id), armed_);
  if (armed_) accounting_->on_poll(*this);
  const uint64_t now = monotonic_ns();
  if (options_.target.whole_system() || now < next_reading_ns_) return;
  next_reading_ns_ = now + os_reading_interval_ns;
  os_.poll();
}

// What is left in the ring when much is waiting already keeps the programs from copying more.
void Session::look_at_ring() {
  read_log();
  if (waiting_.size() + handling_.size() < options_.ring_bytes) ring_buffer__consume(ring_);
  look_at_mappings();
}

void Session::read_log() {
  sideband_.drain([this](const SidebandRecord& record) { spaces_.take(record); });
}

void Session::look_at_mappings() {
  read_log();
  unwinder_.refresh(spaces_);
  looked_at_mappings_ns_ = monotonic_ns();
}

int Session::keep_record(void* session, void* data, size_t size) {
  auto& self = *static_cast<Session*>(session);
  self.meet({static_cast<const std::byte*>(data), size});
  std::vector<std::byte>& waiting = self.waiting_;
  const auto append = [&](const void* from, size_t count) {
    const auto* bytes = static_cast<const std::byte*>(from);
    waiting.insert(waiting.end(), bytes, bytes + count);
  };
  size = (size + 7) / 8 * 8;  // records are aligned in the ring, and so they stay
  append(&size, sizeof(size));
  append(data, size);
  return 0;
}

// A process that begins is looked at as soon as its record is there, and so is a file of which no
// table is loaded: until its code is known its stacks are copied. What these speak of depends on
// their time, not on the order of records.
void Session::meet(std::span<const std::byte> data) {
  uint32_t type = 0;
  if (data.size() < sizeof(type)) return;
  std::memcpy(&type, data.data(), sizeof(type));
  if (type == bpf::record_copy && data.size() >= offsetof(bpf::copy_record, stack)) {
    const auto& copy = *reinterpret_cast<const bpf::copy_record*>(data.data());
    if (copy.unknown != 0) unwinder_.demand(spaces_, SpaceId{copy.space}, copy.unknown, copy.time);
    return;
  }
  if (type == bpf::record_move && data.size() >= sizeof(bpf::move_record)) {
    const auto& move = *reinterpret_cast<const bpf::move_record*>(data.data());
    spaces_.move(SpaceId{move.space}, move);
    return;
  }
  bpf::space_record record{};
  if (type != bpf::record_space || data.size() < sizeof(record)) return;
  std::memcpy(&record, data.data(), sizeof(record));
  accounting_->on_process(record);
  if (!begins(record.reason)) return;
  read_log();
  spaces_.begin(record);
  unwinder_.refresh(spaces_);
}

void Session::on_record(std::span<const std::byte> record) {
  const size_t size = record.size();
  uint32_t type = 0;
  if (size < sizeof(type)) return;
  std::memcpy(&type, record.data(), sizeof(type));
  const void* data = record.data();
  if (type == bpf::record_stack)
    on_stack(*static_cast<const bpf::stack_record*>(data), size);
  else if (type == bpf::record_space && size >= sizeof(bpf::space_record))
    on_space(*static_cast<const bpf::space_record*>(data));
  else if (type == bpf::record_event && size >= sizeof(bpf::event_record))
    accounting_->on_event(*static_cast<const bpf::event_record*>(data));
  else if (type == bpf::record_amount && size >= sizeof(bpf::amount_record))
    stacks_.add(*static_cast<const bpf::amount_record*>(data));
  else if (type == bpf::record_call && size >= sizeof(bpf::call_record))
    accounting_->on_call(*static_cast<const bpf::call_record*>(data));
  else if (type >= bpf::record_own)
    accounting_->on_own_record(record);
  else if (type == bpf::record_copy)
    on_copy(record);
}

void Session::on_space(const bpf::space_record& record) {
  const SpaceId id{record.space};
  if (record.reason == bpf::space_borrow || record.reason == bpf::space_return) return;
  if (record.reason == bpf::space_unmapped)
    return unwinder_.code_unmapped(spaces_, id, record.time);
  os_.take(record);
  deaths_.take(record);
  if (record.reason == bpf::space_ending) return;
  if (record.reason == bpf::space_end) {
    unwinder_.release(id);
    return spaces_.end(id, record.time);
  }
  if (cgroups_) place(id, record.cgroup);
  if (record.reason == bpf::space_fork)
    accounting_->fork(SpaceId{record.parent_space}, id);
  else
    accounting_->begin(id, static_cast<pid_t>(record.tgid), record.reason == bpf::space_exec);
}

void Session::place(SpaceId space, uint64_t cgroup) {
  if (cgroup != 0) spaces_.place(space, cgroups_->name(cgroup));
}

void Session::on_stack(const bpf::stack_record& record, size_t size) {
  const RawStack* stack = stacks_.announced(record, size);
  if (stack == nullptr || !stack->space) return;  // a stack of the kernel alone
  spaces_.expect(stack->space, static_cast<pid_t>(record.tgid), record.comm, record.time);
  const auto user = std::span(stack->pcs).subspan(stack->kernel_pcs);
  spaces_.learn(stack->space, user);
  if (stack->stop == StopReason::no_table && !user.empty())
    unwinder_.demand(spaces_, stack->space, user.back().addr - (user.back().is_return ? 1 : 0),
                     record.time);
}

void Session::on_copy(std::span<const std::byte> data) {
  constexpr size_t head = offsetof(bpf::copy_record, stack);
  if (data.size() < head || data.size() > sizeof(bpf::copy_record)) return;
  // What lies beyond the copied bytes is never looked at.
  if (!copy_) copy_ = std::make_unique<bpf::copy_record>();
  std::memcpy(copy_.get(), data.data(), data.size());
  bpf::copy_record& record = *copy_;
  record.bytes = std::min(record.bytes, static_cast<uint32_t>(data.size() - head));
  if (record.checks == 0) {
    spaces_.expect(SpaceId{record.space}, static_cast<pid_t>(record.tgid), record.comm,
                   record.time);
    stacks_.copied(record.key, unwinder_.walk(spaces_, record));
  } else if (const RawStack* walked = stacks_.find(record.key); walked != nullptr && dump_) {
    dump_->write(record, *walked);
  }
}

void Session::add_row(Recording& recording, uint64_t key, const std::string& group,
                      const std::vector<int64_t>& values, int64_t events) {
  recording.sums.push_back({stacks_.row(recording, key), group, values, events});
}

Losses Session::losses() const {
  const bpf::counters c = object_.counters();
  Losses losses;
  const auto bytes = [](uint64_t n) { return static_cast<int64_t>(n); };
  losses.add(Loss::live_table_full, c.live_full_events, bytes(c.live_full_bytes));
  losses.add(Loss::stack_table_full, c.stack_full_events, bytes(c.stack_full_bytes));
  losses.add(Loss::ring_full, c.ring_full_events + c.event_drops,
             bytes(c.ring_full_bytes + c.event_drop_bytes));
  losses.add(Loss::process_table_full, c.process_full);
  losses.add(Loss::state_unavailable, c.no_state_events, bytes(c.no_state_bytes));
  losses.add(Loss::out_pointer_unread, c.out_pointer_unread);
  losses.add(Loss::calls_abandoned, c.abandoned);
  losses.add(Loss::free_miss, c.free_misses);
  losses.add(Loss::pools_cut, c.pools_cut);
  losses.add(Loss::mapping_records_lost, sideband_.lost());
  losses.add(Loss::late_attach, late_attaches_);
  losses.add(Loss::unwind_table_full, unwinder_.tables().no_room);
  losses.add(Loss::code_list_full, unwinder_.refused());
  // Whatever interrupts one of the kernel's allocators may allocate itself.
  if (!probe_.user_stacks) losses.add(Loss::probe_recursion, object_.skipped());
  accounting_->add_losses(losses);
  return losses;
}

Recording Session::sums() {
  stacks_.begin_recording();
  Recording recording;
  ProbeOptions named = options_;
  named.value = value_named(probe_, options_.value).name;
  recording.types = probe_.types(named, accounting_->is_sampled());
  recording.shown = value_named(probe_, options_.value).column;
  if (!pids_.is_initial() && options_.target.whole_system())
    recording.meta.notes.emplace_back(
        "only the processes of memflame's own PID namespace were watched: others cannot be seen "
        "from there");
  accounting_->finish(*this, recording);
  accounting_->reconcile(*this, recording);
  recording.losses.add(losses());
  return recording;
}

Recording Session::so_far() {
  poll(0);
  Recording recording = sums();
  recording.meta.reconciliation.clear();
  recording.meta.notes = filters_in_words(options_);
  spaces_.copy_to(recording);
  return recording;
}

Recording Session::finish() {
  poll(0);
  spaces_.settle();
  Recording recording = sums();
  if (os_.approximate() != 0)
    recording.meta.notes.push_back("figures of " + std::to_string(os_.approximate()) +
                                   " killed process(es) are from up to 0.2 s before the end");
  links_.detach();
  spaces_.finish(recording);
  std::vector<std::string>& notes = recording.meta.notes;
  for (std::string& note : filters_in_words(options_)) notes.push_back(std::move(note));
  for (std::string& note : deaths_.notes()) notes.push_back(std::move(note));
  accounting_->judge(recording);
  return recording;
}

}  // namespace memflame
