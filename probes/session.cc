#include "probes/session.h"

#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.h"
#include "core/units.h"
#include "probes/frameless.h"

namespace memflame {
namespace {

constexpr uint64_t os_reading_interval_ns = 200'000'000;

constexpr std::array<const char*, bpf::note_count> note_texts{
    "",
    "[lost: ring buffer full]",
    "[lost: stack table full]",
    "[lost: live table full]",
    "[lost: no memory for the per-thread state]",
    "[exec: set up by the kernel]",
    "[by another task: reclaim, ptrace, …]",
};

bpf::config make_config(const ProbeOptions& options, const KernelFeatures& features) {
  bpf::config config{};
  config.self = static_cast<uint32_t>(::getpid());
  config.whole_system = options.target.whole_system();
  config.follow_children = options.target.follow_children || config.whole_system;
  config.kernel_stacks = options.kernel_stacks;
  config.wake_bytes = options.ring_bytes / 4;
  config.cpus = features.possible_cpus;
  config.by_comm = !options.target.comm.empty();
  std::strncpy(config.comm, options.target.comm.c_str(), sizeof(config.comm) - 1);
  return config;
}

}  // namespace

Session::Session(const Probe& probe, const ProbeOptions& options)
    : probe_(probe),
      options_(options),
      features_(kernel_features()),
      object_(probe.object()),
      accounting_(probe.accounting(options)),
      os_(features_.exact_rss_stat) {
  bpf::config config = make_config(options, features_);
  object_.resize("ring", options.ring_bytes);
  object_.resize("sums", options.max_stacks);
  if (!config.by_comm) object_.leave_out("memflame_rename");
  if (!features_.syscall_tracepoints) object_.leave_out("memflame_exit_group");
  probe.configure(options_, config, object_);
  object_.load(config);
  ring_ = ring_buffer__new(object_.map("ring"), on_record, this, nullptr);
  if (ring_ == nullptr)
    throw Error(std::string("the ring buffer cannot be mapped: ") + std::strerror(errno));
  // Exit before exec before fork: a process that is born while we attach is seen to end, too.
  links_.raw_tracepoint(object_.program("memflame_exit"), "sched_process_exit");
  if (features_.syscall_tracepoints)
    links_.tracepoint(object_.program("memflame_exit_group"), "syscalls", "sys_enter_exit_group");
  links_.raw_tracepoint(object_.program("memflame_exec"), "sched_process_exec");
  links_.raw_tracepoint(object_.program("memflame_fork"), "sched_process_fork");
  if (config.by_comm) links_.raw_tracepoint(object_.program("memflame_rename"), "task_rename");
}

Session::~Session() {
  links_.detach();
  ring_buffer__free(ring_);
}

void Session::add_target(pid_t pid, bool waits_for_exec) {
  const uint32_t tgid = static_cast<uint32_t>(pid);
  bpf::process process{};
  process.waits_for_exec = waits_for_exec;
  if (!waits_for_exec) {
    bpf::process known{};
    if (object_.lookup("processes", tgid, known)) return;  // followed since its fork
    process.space = object_.new_space();
    object_.update("spaces", process.space, bpf::space{});
    spaces_.adopt(SpaceId{process.space}, pid, monotonic_ns());
    os_.adopt(SpaceId{process.space}, pid);
    accounting_->begin(SpaceId{process.space}, pid, false);
  }
  object_.update("processes", tgid, process);
}

void Session::add_everything() {
  for (const pid_t pid : all_pids())
    if (pid != ::getpid() && has_address_space(pid)) add_target(pid, false);
}

size_t Session::add_named(const std::string& comm) {
  size_t count = 0;
  for (const pid_t pid : all_pids()) {
    if (pid == ::getpid() || read_comm(pid) != comm || !has_address_space(pid)) continue;
    add_target(pid, false);
    ++count;
  }
  return count;
}

void Session::attach() { probe_.attach(*this); }

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
  os_.read_ends();
}

void Session::poll(int timeout_ms) {
  ring_buffer__poll(ring_, timeout_ms);
  // Wake-ups are only asked for when the ring fills: take what is there in any case.
  ring_buffer__consume(ring_);
  sideband_.drain([this](const SidebandRecord& record) { spaces_.take(record); });
  for (const ModuleId id : spaces_.new_modules())
    if (probe_.attach_module != nullptr) probe_.attach_module(*this, spaces_.module(id), armed_);
  const uint64_t now = monotonic_ns();
  if (options_.target.whole_system() || now < next_reading_ns_) return;
  next_reading_ns_ = now + os_reading_interval_ns;
  os_.poll();
}

int Session::on_record(void* session, void* data, size_t size) {
  auto& self = *static_cast<Session*>(session);
  const auto type = *static_cast<const uint32_t*>(data);
  if (type == bpf::record_stack)
    self.on_stack(*static_cast<const bpf::stack_record*>(data), size);
  else if (type == bpf::record_space && size >= sizeof(bpf::space_record))
    self.on_space(*static_cast<const bpf::space_record*>(data));
  else if (type == bpf::record_event && size >= sizeof(bpf::event_record))
    self.accounting_->on_event(*static_cast<const bpf::event_record*>(data));
  return 0;
}

void Session::on_space(const bpf::space_record& record) {
  const SpaceId id{record.space};
  os_.take(record);
  if (record.reason == bpf::space_ending) return;
  if (record.reason == bpf::space_end) return spaces_.end(id, record.time);
  spaces_.begin(record);
  if (record.reason == bpf::space_fork)
    accounting_->fork(SpaceId{record.parent_space}, id);
  else
    accounting_->begin(id, static_cast<pid_t>(record.tgid), record.reason == bpf::space_exec);
}

void Session::on_stack(const bpf::stack_record& record, size_t size) {
  const size_t words = size_t{record.kernel_frames} + record.frames;
  if (size < offsetof(bpf::stack_record, pcs) + words * sizeof(uint64_t)) return;
  Announced announced;
  announced.caller = record.caller;
  announced.entry = record.entry != 0;
  RawStack& stack = announced.stack;
  stack.space = SpaceId{record.space};
  stack.time_ns = record.time;
  stack.kernel_pcs = record.kernel_frames;
  stack.stop = static_cast<StopReason>(record.stop);
  for (size_t i = 0; i < words; ++i) {
    const bool leaf = i == record.kernel_frames;
    stack.pcs.push_back({record.pcs[i], !leaf && i != 0});
    // At a function entry the frame pointer is still the caller's, so the chain misses the caller.
    if (leaf && announced.entry) stack.pcs.push_back({announced.caller, true});
  }
  spaces_.expect(stack.space, static_cast<pid_t>(record.tgid), record.comm, record.time);
  spaces_.learn(stack.space, std::span(stack.pcs).subspan(stack.kernel_pcs));
  stacks_[record.hash] = std::move(announced);
}

bool Session::first_probe_of(int fd) {
  struct stat status {};
  return fd >= 0 && ::fstat(fd, &status) == 0 &&
         probed_files_.emplace(status.st_dev, status.st_ino).second;
}

RawStackId Session::stack_for(Recording& recording, uint64_t key) {
  RawStackId& id = ids_[key];
  if (id) return id;
  id = RawStackId{static_cast<uint32_t>(recording.stacks.size())};
  RawStack& stack = recording.stacks.emplace_back();
  if (const auto known = stacks_.find(key); known != stacks_.end()) {
    stack = known->second.stack;
  } else if (key >> 63) {
    stack.note = "[lost: ring buffer full]";
  } else {
    stack.space = SpaceId{static_cast<uint32_t>(key >> 8)};
    const size_t note = key & 0xff;
    stack.note = note < note_texts.size() ? note_texts[note] : "[lost]";
  }
  return id;
}

void Session::add_row(Recording& recording, uint64_t key, const std::string& group,
                      const std::vector<int64_t>& values) {
  recording.sums.push_back({stack_for(recording, key), group, values});
}

// Where the leaf function keeps nothing on the stack, frame pointers skip its direct caller; the
// word on top of the stack is that caller's address.
void Session::insert_missing_callers(Recording& recording) {
  std::unordered_map<uint32_t, Frameless> tables;
  for (const auto& [key, id] : ids_) {
    const auto known = stacks_.find(key);
    if (known == stacks_.end() || known->second.entry || known->second.caller == 0) continue;
    RawStack& stack = recording.stacks[id.index];
    if (stack.pcs.size() <= stack.kernel_pcs) continue;
    const Pc leaf = stack.pcs[stack.kernel_pcs];
    const Mapping* mapping = spaces_.find(stack.space, leaf.addr);
    if (mapping == nullptr || spaces_.module(mapping->module).file.get() < 0) continue;
    const auto [table, added] =
        tables.try_emplace(mapping->module.index, spaces_.module(mapping->module).file.get());
    if (table->second.return_address_on_top(leaf.addr - mapping->start + mapping->offset))
      stack.pcs.insert(stack.pcs.begin() + stack.kernel_pcs + 1, {known->second.caller, true});
  }
}

void Session::count_losses(Recording& recording) {
  const bpf::counters c = object_.counters();
  Losses& losses = recording.losses;
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
  losses.add(Loss::mapping_records_lost, sideband_.lost());
  losses.add(Loss::late_attach, late_attaches_);
}

Recording Session::finish() {
  poll(0);
  spaces_.settle();
  Recording recording;
  recording.types = probe_.types(value_named(probe_, options_.value).name);
  recording.shown = value_named(probe_, options_.value).column;
  accounting_->finish(*this, recording);
  probe_.reconcile(*this, recording);
  if (os_.approximate() != 0)
    recording.meta.notes.push_back("figures of " + std::to_string(os_.approximate()) +
                                   " killed process(es) are from up to 0.2 s before the end");
  insert_missing_callers(recording);
  count_losses(recording);
  links_.detach();
  spaces_.finish(recording);
  return recording;
}

void Accounting::finish(Session& session, Recording& recording) {
  const size_t columns = recording.types.size();
  const auto add = [&](const uint64_t& key, const bpf::sum& sum) {
    const std::vector<int64_t> values(sum.value, sum.value + columns);
    const bool empty = std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
    if (!empty) session.add_row(recording, key, "", values);
  };
  session.object().for_each<uint64_t, bpf::sum>("sums", add);
  session.object().for_each<uint64_t, bpf::sum>("notes", add);
}

}  // namespace memflame
