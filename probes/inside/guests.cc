// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/guests.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.h"
#include "core/units.h"
#include "probes/processes/procfs.h"

namespace memflame::inside {
namespace {

// How often one process is answered at most: it may ask without end.
constexpr uint64_t answer_interval_ns = 500'000;

bool has_ended(int process) {
  pollfd entry{.fd = process, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) > 0;
}

uint64_t sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

// The figures with which a space begins. What the kernel makes resident to start a program counts
// as growth, as it does for the kernel's collector.
void add_memory(bpf::space_record& record, pid_t pid) {
  const std::optional<OsMemory> memory = read_memory(pid);
  if (!memory) return;
  record.has_memory = 1;
  record.vm_pages = static_cast<uint64_t>(memory->vm_size / page_bytes);
  record.rss[0] = memory->rss_file / page_bytes;
  record.rss[1] = memory->rss_anon / page_bytes;
  record.rss[2] = memory->swap / page_bytes;
  record.rss[3] = memory->rss_shmem / page_bytes;
}

// As wait() has it, if it is memflame's own child; it is left for whoever waits for it.
uint32_t status_of(pid_t pid) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid)
    return 0;
  return static_cast<uint32_t>(info.si_code == CLD_EXITED ? (info.si_status & 255) << 8
                                                          : info.si_status & 127);
}

}  // namespace

void Guests::Counts::add(const Process& process) {
  reentered = sum(reentered, taken_once(process.reentered));
  lost = sum(lost, taken_once(process.lost));
  lost_frees = sum(lost_frees, taken_once(process.lost_frees));
  waited_us = sum(waited_us, taken_once(process.waited_us));
  checked = sum(checked, taken_once(process.checked));
  differing = sum(differing, taken_once(process.differing));
  sample_ticks = sum(sample_ticks, taken_once(process.sample_ticks));
  scripts_unread = sum(scripts_unread, taken_once(process.scripts_unread));
  if (const uint32_t state = taken_once(process.python); state < python_states) ++python[state];
  const uint64_t bytes = std::min<uint64_t>(taken_once(process.lost_bytes), INT64_MAX);
  if (__builtin_add_overflow(lost_bytes, static_cast<int64_t>(bytes), &lost_bytes))
    lost_bytes = INT64_MAX;
}

Guests::Guests(const Parts& parts, std::vector<pid_t> first, bool follow_children)
    : parts_(parts),
      first_(std::move(first)),
      follow_children_(follow_children),
      entries_(most_processes),
      ends_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!ends_) throw Error("inside: the ends of processes cannot be waited for (epoll)");
}

void Guests::poll() {
  for (const Guest& guest : parts_.exchange.arrivals()) let_in(guest);
  for (const auto& [pid, index] : by_pid_)
    if (taken_once(parts_.exchange.process(index).requests) != entries_[index].answered)
      answer(index);
}

void Guests::see_ends() {
  std::array<epoll_event, 64> ended{};
  int count = 0;
  do {
    count = ::epoll_wait(ends_.get(), ended.data(), ended.size(), 0);
    for (int i = 0; i < count; ++i) end(ended[static_cast<size_t>(i)].data.u32);
  } while (count == static_cast<int>(ended.size()));
}

bool Guests::expect_end(int process, uint32_t index) {
  epoll_event event{.events = EPOLLIN, .data = {.u32 = index}};
  return ::epoll_ctl(ends_.get(), EPOLL_CTL_ADD, process, &event) == 0;
}

uint32_t Guests::free_entry() {
  const auto entry =
      std::find_if(entries_.begin(), entries_.end(), [](const Entry& e) { return e.pid == 0; });
  return static_cast<uint32_t>(entry - entries_.begin());
}

// Takes an entry for a process and publishes its code; most_processes if there is no room.
uint32_t Guests::begin(const Guest& guest, bool is_running) {
  const uint32_t index = free_entry();
  UniqueFd process(::fcntl(guest.process.get(), F_DUPFD_CLOEXEC, 0));
  if (index == most_processes || !process || !expect_end(process.get(), index))
    return most_processes;
  const SpaceId space = begin_space(guest, is_running);
  Entry& entry = entries_[index];
  entry.process = std::move(process);
  entry.pid = guest.pid;
  entry.space = space;
  entry.answered = 0;
  Process& shared = parts_.exchange.process(index);
  const uint64_t generation = taken_once(shared.generation);
  std::memset(static_cast<void*>(&shared), 0, sizeof(shared));
  shared.generation = generation;
  shared.pid = static_cast<uint32_t>(guest.pid);
  publish_code(index);
  by_pid_[guest.pid] = index;
  return index;
}

uint32_t Guests::expect(pid_t pid) {
  if (std::find(first_.begin(), first_.end(), pid) == first_.end()) first_.push_back(pid);
  Guest guest;
  guest.pid = pid;
  guest.process.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  guest.hello.time = now_ticks();
  if (!guest.process) throw Error("there is no process " + std::to_string(pid));
  const uint32_t index = begin(guest, true);
  if (index == most_processes)
    throw Error("there is no room for process " + std::to_string(pid) + " beside the others");
  entries_[index].is_expected = true;
  return index;
}

void Guests::refresh(uint32_t index) {
  const Entry& entry = entries_[index];
  if (entry.pid == 0) return;
  parts_.processes.spaces().read_again(entry.space, monotonic_ns());
  publish_code(index);
}

// For the agent, and for the reader of what it writes from then on. Stacks that were walked by the
// list before may go through code that has gone meanwhile.
void Guests::publish_code(uint32_t index) {
  const SpaceId space = entries_[index].space;
  Spaces& spaces = parts_.processes.spaces();
  parts_.code.publish(index, space, [&] { parts_.reader.read_as_of(spaces.read_at(space)); });
  parts_.reader.follow_code(index, spaces.later_code_of(space, monotonic_ns()));
}

void Guests::lose(pid_t pid) {
  if (const auto known = by_pid_.find(pid); known != by_pid_.end()) end(known->second);
}

void Guests::let_in(const Guest& guest) {
  if (!follow_children_ && std::find(first_.begin(), first_.end(), guest.pid) == first_.end())
    return Exchange::refuse(guest);
  const auto known = by_pid_.find(guest.pid);
  const bool is_expected = known != by_pid_.end() && entries_[known->second].is_expected;
  if (known != by_pid_.end() && !is_expected) end(known->second);
  const uint32_t index = is_expected ? known->second : begin(guest, false);
  if (index == most_processes) {
    ++no_entry_;
    return Exchange::refuse(guest);
  }
  Entry& entry = entries_[index];
  entry.is_expected = false;
  if (is_expected) refresh(index);
  Process& shared = parts_.exchange.process(index);
  RingReader::Functions functions{};
  std::copy(std::begin(guest.hello.functions), std::end(guest.hello.functions), functions.begin());
  std::copy(functions.begin(), functions.end(), std::begin(shared.functions));
  parts_.reader.open(index, entry.space, functions, guest.pid);
  publish(shared.state, uint32_t{state_owned});
  ++met_;
  if (guest.hello.forked == 0) parts_.uncovered.meet(guest.pid);
  // If it has gone meanwhile, see_ends() finds out.
  parts_.exchange.welcome(guest, index);
}

SpaceId Guests::begin_space(const Guest& guest, bool is_running) {
  const SpaceId space{++last_space_};
  bpf::space_record record{};
  record.type = bpf::record_space;
  record.space = space.index;
  record.time = monotonic_ns();
  record.tgid = static_cast<uint32_t>(guest.pid);
  record.reason = is_running ? bpf::space_found : bpf::space_exec;
  if (guest.hello.forked != 0) {
    record.reason = bpf::space_fork;
    const uint32_t parent = guest.hello.parent;
    if (parent < most_processes && entries_[parent].pid != 0)
      record.parent_space = entries_[parent].space.index;
  }
  record.cgroup = parts_.processes.cgroup_of(guest.pid);
  const std::string comm = read_comm(guest.pid);
  std::strncpy(record.comm, comm.c_str(), sizeof(record.comm) - 1);
  add_memory(record, guest.pid);
  parts_.processes.begin(record);
  parts_.processes.take(record);
  // A child has its parent's code, and what it has mapped since.
  if (record.reason == bpf::space_fork) parts_.processes.spaces().read_again(space, record.time);
  parts_.blocks.begin(space, SpaceId{record.parent_space}, std::min(guest.hello.time, now_ticks()));
  return space;
}

void Guests::answer(uint32_t index) {
  Entry& entry = entries_[index];
  const uint64_t now = monotonic_ns();
  asked_ns_ = now;
  if (now - entry.answered_ns < answer_interval_ns) return;
  Process& shared = parts_.exchange.process(index);
  const uint32_t asked = taken_once(shared.requests);
  parts_.processes.spaces().read_again(entry.space, monotonic_ns());
  publish_code(index);
  publish(shared.answered, asked);
  entry.answered = asked;
  entry.answered_ns = monotonic_ns();
}

void Guests::end(uint32_t index) {
  Entry& entry = entries_[index];
  parts_.reader.close(index);
  Process& shared = parts_.exchange.process(index);
  ended_.add(shared);
  publish(shared.state, uint32_t{state_free});
  bpf::space_record record{};
  record.type = bpf::record_space;
  record.space = entry.space.index;
  record.time = monotonic_ns();
  record.tgid = static_cast<uint32_t>(entry.pid);
  record.reason = bpf::space_end;
  if (has_ended(entry.process.get())) record.exit_status = status_of(entry.pid);
  const std::string comm = read_comm(entry.pid);
  std::strncpy(record.comm, comm.c_str(), sizeof(record.comm) - 1);
  parts_.processes.take(record);
  parts_.code.release(index, entry.space);
  parts_.processes.spaces().scripts().forget(entry.space);
  by_pid_.erase(entry.pid);
  left_.insert(entry.pid);
  ::epoll_ctl(ends_.get(), EPOLL_CTL_DEL, entry.process.get(), nullptr);
  entry = {};
}

Guests::Counts Guests::counts() const {
  Counts counts = ended_;
  for (const auto& [pid, index] : by_pid_) counts.add(parts_.exchange.process(index));
  return counts;
}

}  // namespace memflame::inside
