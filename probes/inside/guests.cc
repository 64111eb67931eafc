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
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "probes/system/procfs.h"

namespace memflame::inside {
namespace {

// How often one process is answered at most: it may ask without end.
constexpr uint64_t answer_interval_ns = 500'000;

bool has_ended(int process) {
  pollfd entry{.fd = process, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) > 0;
}

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

// At least 1.
uint32_t threads_of(pid_t pid) {
  const std::string status = read_file("/proc/" + std::to_string(pid) + "/status");
  const unsigned long threads = std::strtoul(status_field(status, "Threads").c_str(), nullptr, 10);
  return static_cast<uint32_t>(std::max(threads, 1UL));
}

}  // namespace

Guests::Guests(const Parts& parts, std::vector<pid_t> first, bool follow_children)
    : parts_(parts),
      first_(std::move(first)),
      follow_children_(follow_children),
      entries_(most_processes),
      ends_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!ends_) throw Error("inside: the ends of processes cannot be waited for (epoll)");
}

void Guests::poll() {
  std::vector<Guest> arrivals = parts_.exchange.arrivals();
  // Before who speaks in what was executed.
  if (follow_children_) parts_.uncovered.take_executions(parts_.exchange);
  for (Guest& guest : arrivals) let_in(std::move(guest));
  hear_joiners();
  if (const uint32_t claims = taken_once(parts_.exchange.control().arrivals); claims != arrivals_) {
    arrivals_ = claims;
    take_claims();
  }
  for (const auto& [pid, index] : by_pid_) {
    const Process& shared = parts_.exchange.process(index);
    const uint32_t answered = entries_[index].answered;
    // A program may have written over what it was answered.
    if (taken_once(shared.requests) != answered || taken_once(shared.answered) != answered)
      answer(index);
  }
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

// Takes the first free entry, as forked children do; most_processes if there is none.
uint32_t Guests::take_entry() {
  for (uint32_t i = 0; i < most_processes; ++i) {
    uint32_t expected = state_free;
    if (entries_[i].pid != 0 || !std::atomic_ref(parts_.exchange.process(i).state)
                                     .compare_exchange_strong(expected, state_taken))
      continue;
    uint32_t& most = parts_.exchange.control().processes;
    for (uint32_t known = taken_once(most);
         known <= i && !std::atomic_ref(most).compare_exchange_weak(known, i + 1);) {
    }
    return i;
  }
  ++no_entry_;
  return most_processes;
}

// Begins the process of an entry that was taken, and publishes its code. False if it has gone.
bool Guests::begin(uint32_t index, Arrival arrival) {
  if (!arrival.process || !expect_end(arrival.process.get(), index)) return false;
  Entry& entry = entries_[index];
  entry.pid = arrival.pid;
  entry.space = begin_space(arrival);
  entry.process = std::move(arrival.process);
  entry.answered = 0;
  entry.began_ns = monotonic_ns();
  entry.began_ticks = now_ticks();
  Process& shared = parts_.exchange.process(index);
  Process fresh{};
  fresh.state = taken_once(shared.state);
  fresh.pid = static_cast<uint32_t>(entry.pid);
  fresh.generation = taken_once(shared.generation);
  std::copy(std::begin(shared.functions), std::end(shared.functions), fresh.functions);
  std::memcpy(static_cast<void*>(&shared), &fresh, sizeof(shared));
  publish_code(index);
  by_pid_[entry.pid] = index;
  most_at_once_ = std::max(most_at_once_, by_pid_.size());
  return true;
}

uint32_t Guests::expect(pid_t pid) {
  if (!is_wanted(pid)) first_.push_back(pid);
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) throw Error("there is no process " + std::to_string(pid));
  const uint32_t index = take_entry();
  if (index == most_processes || !begin(index, {.pid = pid,
                                                .process = std::move(process),
                                                .time = now_ticks(),
                                                .parent = std::nullopt,
                                                .is_running = true}))
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

bool Guests::is_wanted(pid_t pid) const {
  return follow_children_ || std::find(first_.begin(), first_.end(), pid) != first_.end();
}

void Guests::refuse(const Guest& guest) {
  parts_.uncovered.turn_away(guest.pid);
  Exchange::refuse(guest);
}

void Guests::let_in(Guest guest) {
  if (!is_wanted(guest.pid) || parts_.uncovered.is_counted_by_kernel(guest.pid))
    return refuse(guest);
  const auto known = by_pid_.find(guest.pid);
  const bool is_expected = known != by_pid_.end() && entries_[known->second].is_expected;
  if (known != by_pid_.end() && !is_expected) end(known->second);
  const uint32_t index = is_expected ? known->second : take_entry();
  if (index == most_processes) return refuse(guest);
  Process& shared = parts_.exchange.process(index);
  std::copy(std::begin(guest.hello.functions), std::end(guest.hello.functions), shared.functions);
  if (is_expected) {
    entries_[index].is_expected = false;
    refresh(index);
  } else if (!begin(index, {.pid = guest.pid,
                            .process = std::move(guest.process),
                            .time = guest.hello.time,
                            .parent = std::nullopt,
                            .is_running = false})) {
    publish(shared.state, uint32_t{state_free});
    return refuse(guest);
  }
  open(index);
  if (is_expected)
    parts_.uncovered.hear(guest.pid);
  else
    parts_.uncovered.meet(guest.pid);
  // If it has gone meanwhile, see_ends() finds out. Who came into a process knows if it has failed.
  parts_.exchange.welcome(guest, index);
  if (!is_expected) joiners_.push_back({std::move(guest), index});
}

void Guests::hear_joiners() {
  std::vector<Joiner> silent;
  for (Joiner& joiner : std::exchange(joiners_, {}))
    if (const std::optional<uint8_t> answer = Exchange::answer_of(joiner.guest); !answer)
      silent.push_back(std::move(joiner));
    else if (*answer != joining_done)
      fail(std::move(joiner), *answer);
  std::ranges::move(silent, std::back_inserter(joiners_));
}

// Its agent only calls on.
void Guests::fail(Joiner joiner, uint8_t answer) {
  const pid_t pid = joiner.guest.pid;
  if (entries_[joiner.index].pid == pid) end(joiner.index);
  if (has_ended(joiner.guest.process.get())) return;
  left_.erase(pid);
  const std::string why = answer == joining_without_descriptors
                              ? "no descriptors were left for memflame's agent (ulimit -n)"
                          : answer == joining_without_memory
                              ? "no address space was left for memflame's agent (ulimit -v)"
                              : "memflame's agent could not join the run";
  const auto guest = std::make_shared<Guest>(std::move(joiner.guest));
  parts_.uncovered.miss(pid, why, [guest](bool) { return Exchange::dismiss(*guest); });
}

// Its agent may record.
void Guests::open(uint32_t index) {
  Process& shared = parts_.exchange.process(index);
  RingReader::Functions functions{};
  for (size_t i = 0; i < functions.size(); ++i) functions[i] = taken_once(shared.functions[i]);
  parts_.reader.open(index, entries_[index].space, functions, entries_[index].pid, now_ticks());
  ++met_;
  publish(shared.state, uint32_t{state_owned});
}

SpaceId Guests::begin_space(const Arrival& arrival) {
  const SpaceId space = new_space();
  bpf::space_record record{};
  record.type = bpf::record_space;
  record.space = space.index;
  record.time = monotonic_ns();
  record.tgid = static_cast<uint32_t>(arrival.pid);
  record.reason = arrival.is_running ? bpf::space_found : bpf::space_exec;
  if (arrival.parent) {
    record.reason = bpf::space_fork;
    if (*arrival.parent < most_processes && entries_[*arrival.parent].pid != 0)
      record.parent_space = entries_[*arrival.parent].space.index;
  }
  record.cgroup = parts_.processes.cgroup_of(arrival.pid);
  const std::string comm = read_comm(arrival.pid);
  std::strncpy(record.comm, comm.c_str(), sizeof(record.comm) - 1);
  add_memory(record, arrival.pid);
  parts_.processes.begin(record);
  parts_.processes.take(record);
  // A child has its parent's code, and what it has mapped since.
  if (record.reason == bpf::space_fork) parts_.processes.spaces().read_again(space, record.time);
  parts_.blocks.begin(space, SpaceId{record.parent_space}, std::min(arrival.time, now_ticks()));
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
  const uint32_t threads = parts_.reader.close(index);
  Process& shared = parts_.exchange.process(index);
  add_counts(ended_, index, threads);
  publish(shared.began, uint64_t{0});
  publish(shared.state, uint32_t{state_free});
  bpf::space_record record{};
  record.type = bpf::record_space;
  record.space = entry.space.index;
  record.time = monotonic_ns();
  record.tgid = static_cast<uint32_t>(entry.pid);
  record.reason = bpf::space_end;
  if (has_ended(entry.process.get()))
    record.exit_status = exit_status_of(entry.process.get(), entry.pid);
  if (const auto status = static_cast<int>(record.exit_status);
      WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    record.out_of_memory = uint32_t{oom_kills_.explain()};
  std::string comm = read_comm(entry.pid);
  // Its parent may have waited for it, and then nothing is left in /proc.
  if (comm.empty()) comm = parts_.processes.spaces().name_of(entry.space);
  std::strncpy(record.comm, comm.c_str(), sizeof(record.comm) - 1);
  parts_.processes.take(record);
  parts_.code.release(index, entry.space);
  parts_.processes.spaces().scripts().forget(entry.space);
  by_pid_.erase(entry.pid);
  left_.insert(entry.pid);
  ::epoll_ctl(ends_.get(), EPOLL_CTL_DEL, entry.process.get(), nullptr);
  entry = {};
}

// `rings`: how many its threads took, one after the other or at once.
void Guests::add_counts(AgentCounts& counts, uint32_t index, uint32_t rings) const {
  const Entry& entry = entries_[index];
  const AgentFigures figures = figures_of(parts_.exchange.process(index));
  const AgentTime time{.us = (monotonic_ns() - entry.began_ns) / 1000,
                       .ticks = now_ticks() - entry.began_ticks};
  AgentTime of_all = time.of_threads(1);
  if (!can_be(figures, of_all)) of_all = time.of_threads(std::max(threads_of(entry.pid), rings));
  counts.add(figures, of_all);
}

AgentCounts Guests::counts() const {
  AgentCounts counts = ended_;
  for (const auto& [pid, index] : by_pid_) add_counts(counts, index, parts_.reader.rings_of(index));
  counts.damaged += uint64_t{!can_have_refused(taken_once(parts_.exchange.control().refused))};
  counts.damaged += uint64_t{impossible_claims_ != 0 || !can_have_begun(unknown_claims_)};
  counts.damaged += uint64_t{parts_.uncovered.is_told_damaged()};
  return counts;
}

}  // namespace memflame::inside
