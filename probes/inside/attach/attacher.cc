// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/attacher.h"

#include <asm/unistd.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/unique_fd.h"
#include "probes/inside/attach/attach_lock.h"
#include "probes/inside/attach/call_filter.h"
#include "probes/inside/attach/own_process.h"
#include "probes/inside/exchange/agent_file.h"
#include "probes/options/advice.h"
#include "probes/processes/spaces.h"
#include "probes/reach/tracing.h"
#include "probes/system/procfs.h"

namespace memflame::inside {
namespace {

constexpr uint64_t safe_patience_ns = 5'000'000'000, outside_patience_ns = 5'000'000'000;
constexpr uint64_t busy_patience_ns = 2'500'000'000, busy_pause_ns = 100'000'000;
// An attacher whose memflame was killed may still look for a thread at a safe point.
constexpr uint64_t lock_patience_ns = safe_patience_ns + 1'000'000'000;
// A thread that stops only when nobody waits for it any longer finds its system call interrupted:
// on a busy machine it may take a second to get a processor.
constexpr uint64_t late_patience_ns = 5'000'000'000, shortest_reply_ns = 50'000;
// A process that stays out of reach for long costs little: the longest ones are for it.
constexpr uint64_t longest_reply_ns = 2'000'000;
constexpr uint64_t shortest_pause_ns = 300'000, longest_pause_ns = 30'000'000;
constexpr uint32_t executable_memory_file = 0x10;  // MFD_EXEC, since 6.3
constexpr size_t most_tries_a_round = 32;

// A name for the descriptor that no object of the process has been loaded by: the dynamic linker
// takes one with an equal name for the same file.
std::string unheard_name(int64_t fd) {
  uint32_t random = 0;
  if (::getrandom(&random, sizeof(random), 0) != static_cast<ssize_t>(sizeof(random)))
    random = static_cast<uint32_t>(monotonic_ns());
  std::string name = "/proc/self/fd/";
  for (int bit = 0; bit < 32; ++bit) name += (random >> bit & 1) != 0 ? ".//" : "./";
  return name + std::to_string(fd);
}

bool write_image(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(wrote));
  }
  return true;
}

}  // namespace

void Attacher::refuse(const std::string& why) const {
  throw Error("process " + std::to_string(pid_) + " cannot be watched from inside: " + why + "; " +
              as_root("--collect kernel needs no agent"));
}

AttachFigures Attacher::enter(const std::string& run, bool listens,
                              const std::function<void()>& meanwhile,
                              const std::function<void(UniqueFd)>& listen) {
  const std::string why =
      in_own_process([&](const Give& give) { bring_in(run, listens, give); }, meanwhile, listen);
  if (!why.empty()) throw Error(why);
  return figures_;
}

std::string Attacher::leave(AttachFigures& figures, const std::function<void()>& meanwhile) {
  const std::string why =
      in_own_process([&](const Give&) { take_out(); }, meanwhile, [](const UniqueFd&) {});
  figures = figures_;
  return is_alive(pid_) ? why : "";
}

std::string Attacher::in_own_process(const std::function<void(const Give&)>& work,
                                     const std::function<void()>& meanwhile,
                                     const std::function<void(UniqueFd)>& take) {
  OwnProcess process([&](const Give& give) {
    std::string why;
    try {
      const std::optional<AttachLock> lock = AttachLock::take(pid_, lock_patience_ns);
      if (!lock) refuse("another memflame is coming into it, or leaving it");
      work(give);
    } catch (const std::exception& error) {
      why = error.what();
    }
    finish();
    return std::string(reinterpret_cast<const char*>(&figures_), sizeof(figures_)) + why;
  });
  const uint64_t began = monotonic_ns();
  while (!process.has_ended()) {
    if (UniqueFd given = process.given()) take(std::move(given));
    meanwhile();
    pause_for(std::clamp((monotonic_ns() - began) / 100, shortest_reply_ns, longest_reply_ns));
  }
  const std::string& said = process.said();
  if (said.size() < sizeof(figures_)) return "the process that attaches ended early";
  std::memcpy(&figures_, said.data(), sizeof(figures_));
  return said.substr(sizeof(figures_));
}

// Threads that never stopped are let go of when this process ends.
void Attacher::finish() {
  const uint64_t deadline = monotonic_ns() + late_patience_ns;
  for (let_go_of_late_ones(); !late_.empty() && monotonic_ns() < deadline; let_go_of_late_ones())
    pause_for(shortest_pause_ns);
}

void Attacher::bring_in(const std::string& run, bool listens, const Give& give) {
  figures_ = {};
  target_ = std::make_unique<AttachTarget>(pid_);
  const uint64_t began = monotonic_ns();
  if (target_->agent() != nullptr) {
    leave_run_before();
    wait_until_outside();
  }
  std::unique_ptr<Tracee> tracee = safe_thread();
  {
    RemoteCalls calls(*tracee, target_->functions());
    if (target_->agent() == nullptr) load_agent(calls);
    if (!listens) give_socket(calls, run, give);
    join_run(calls, agent_of(), run);
  }
  let_go(tracee);
  figures_.took_ns = monotonic_ns() - began;
}

void Attacher::take_out() {
  figures_ = {};
  const uint64_t began = monotonic_ns();
  target_ = std::make_unique<AttachTarget>(pid_);
  if (target_->agent() == nullptr) return;  // it runs another program now
  std::unique_ptr<Tracee> tracee = safe_thread();
  {
    RemoteCalls calls(*tracee, target_->functions());
    const Agent agent = agent_of();
    if (ask(calls, agent, "memflame_hooks_out") != attach_done) refuse("its agent does not answer");
    AttachRequest after{};
    calls.memory().read(agent.request, after);
    figures_.slots = after.changed;
    figures_.failed_slots = after.failed;
  }
  let_go(tracee);
  figures_.took_ns = monotonic_ns() - began;
}

void Attacher::let_go(std::unique_ptr<Tracee>& tracee) {
  tracee->let_go();
  figures_.longest_stop_ns = std::max(figures_.longest_stop_ns, tracee->held_ns());
  tracee.reset();
}

// Null if the thread is not held.
std::unique_ptr<Tracee> Attacher::hold(pid_t tid) {
  let_go_of_late_ones();
  auto tracee = std::make_unique<Tracee>(pid_, tid, [this] { let_go_of_late_ones(); });
  ++figures_.looked_at;
  if (tracee->state() == Tracee::State::held) return tracee;
  if (tracee->state() == Tracee::State::running) late_.push_back(std::move(tracee));
  return nullptr;
}

void Attacher::let_go_of_late_ones() {
  for (std::unique_ptr<Tracee>& late : late_)
    if (late->catch_up() == Tracee::State::held) let_go(late);
  std::erase_if(late_, [](const std::unique_ptr<Tracee>& late) {
    return late == nullptr || late->state() == Tracee::State::gone;
  });
}

// True if a thread at a safe point was found, and is held now.
bool Attacher::try_threads(std::unique_ptr<Tracee>& found, std::string& why) {
  std::vector<pid_t> tids = threads_of(pid_);
  if (tids.empty()) throw Error("process " + std::to_string(pid_) + " ended");
  // Another thread first each time: there may be thousands.
  std::rotate(tids.begin(),
              tids.begin() + static_cast<std::ptrdiff_t>(figures_.looked_at % tids.size()),
              tids.end());
  if (tids.size() > most_tries_a_round) tids.resize(most_tries_a_round);
  for (const pid_t tid : tids) {
    found = hold(tid);
    if (!found) {
      why = "thread " + std::to_string(tid) + " does not stop";
      continue;
    }
    const std::string unsafe = why_unsafe(*target_, stack_of(*found, rows_), found->system_call());
    if (unsafe.empty()) return true;
    why = "thread " + std::to_string(tid) + ": " + unsafe;
    let_go(found);
  }
  return false;
}

std::unique_ptr<Tracee> Attacher::safe_thread() {
  const uint64_t deadline = monotonic_ns() + safe_patience_ns;
  uint64_t pause = shortest_pause_ns;
  std::string why;
  std::unique_ptr<Tracee> found;
  if (why = why_filters_differ(pid_); !why.empty()) refuse(why);
  while (!try_threads(found, why)) {
    if (monotonic_ns() > deadline)
      refuse("no thread of it came to a point where functions can be called (" + why + ")");
    pause_for(pause);
    pause = std::min(pause * 5 / 4, longest_pause_ns);
    target_->look();
  }
  if (const std::string filtered = why_calls_are_filtered(found->tid()); !filtered.empty()) {
    let_go(found);
    refuse(filtered);
  }
  return found;
}

// Each thread is seen once outside of the agent. Those that begin meanwhile are: see attacher.h.
void Attacher::wait_until_outside() {
  const uint64_t deadline = monotonic_ns() + outside_patience_ns;
  std::vector<pid_t> inside = threads_of(pid_);
  while (true) {
    std::erase_if(inside, [this](pid_t tid) {
      std::unique_ptr<Tracee> tracee = hold(tid);
      if (!tracee) return !is_alive(tid);
      const bool is_outside = !is_in_agent(*target_, stack_of(*tracee, rows_));
      let_go(tracee);
      return is_outside;
    });
    if (inside.empty()) return;
    if (monotonic_ns() > deadline)
      refuse("thread " + std::to_string(inside.front()) +
             " is still in the agent of an earlier run");
    pause_for(shortest_pause_ns);
  }
}

void Attacher::load_agent(RemoteCalls& calls) {
  const auto make = [&](uint32_t flags) {
    return calls.system_call(__NR_memfd_create, {calls.text(attached_name()), flags});
  };
  int64_t fd = make(MFD_CLOEXEC | MFD_ALLOW_SEALING | executable_memory_file);
  if (fd == -EINVAL) fd = make(MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    refuse("it may not make a memory file (" + std::string(std::strerror(static_cast<int>(-fd))) +
           "; seccomp?)");
  const UniqueFd file(
      ::open(proc_path(pid_, "fd/" + std::to_string(fd)).c_str(), O_WRONLY | O_CLOEXEC));
  const bool is_filled = file && write_image(file.get(), agent_image());
  const int error = errno;
  if (is_filled)
    ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  std::string why;
  uint64_t handle = 0;
  if (is_filled) {
    handle =
        calls.call(calls.functions().load, {calls.text(unheard_name(fd)), RTLD_NOW | RTLD_LOCAL});
    if (handle == 0) why = calls.memory().text(calls.call(calls.functions().error_text, {}));
  } else {
    why = std::string("its memory file cannot be written: ") + std::strerror(error);
  }
  calls.system_call(__NR_close, {static_cast<uint64_t>(fd)});
  if (handle == 0) refuse("the agent cannot be loaded: " + why);
  if (!target_->take_agent(handle)) refuse("the agent was loaded, but is not there");
  const Agent agent = agent_of();
  AttachRequest request{};
  request.handle = handle;
  request.is_attached = 1;
  if (!calls.memory().write_value(agent.request, request)) refuse("its memory cannot be written");
}

// The names of abstract sockets are those of a network namespace, and a socket stays in the one in
// which it was made: so the process makes it, and memflame takes it.
void Attacher::give_socket(RemoteCalls& calls, const std::string& run, const Give& give) const {
  const std::string name = run.substr(0, run.find(':'));
  const int64_t theirs =
      calls.system_call(__NR_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0});
  if (theirs < 0) refuse("it is in another network namespace, and may make no socket there");
  const UniqueFd process(static_cast<int>(::syscall(__NR_pidfd_open, pid_, 0)));
  const UniqueFd own(static_cast<int>(::syscall(__NR_pidfd_getfd, process.get(), theirs, 0)));
  calls.system_call(__NR_close, {static_cast<uint64_t>(theirs)});
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(),
              std::min(name.size(), sizeof(address.sun_path) - 1));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!own || ::bind(own.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(own.get(), 1024) != 0)
    refuse("it is in another network namespace, where memflame gets no socket");
  give(own.get());
}

Attacher::Agent Attacher::agent_of() const {
  const LoadedObject& object = *target_->agent();
  Agent agent;
  agent.request = object.find(target_->memory(), "memflame_request").address;
  agent.join = object.find(target_->memory(), "memflame_join").address;
  if (agent.request == 0 || agent.join == 0 || !target_->memory().read(agent.request, agent.asked))
    refuse("the agent in it cannot be read");
  return agent;
}

// Has the dynamic linker call one of the agent's functions while it holds its lock.
AttachResult Attacher::ask(RemoteCalls& calls, const Agent& agent, const char* name) {
  return static_cast<AttachResult>(
      calls.call(calls.functions().find, {agent.asked.handle, calls.text(name)}));
}

// A memflame that was killed counts as alive for as long as agents have patience with it.
void Attacher::leave_run_before() {
  const uint64_t deadline = monotonic_ns() + busy_patience_ns;
  while (true) {
    std::unique_ptr<Tracee> tracee = safe_thread();
    AttachResult result = attach_failed;
    {
      RemoteCalls calls(*tracee, target_->functions());
      const Agent agent = agent_of();
      result = ask(calls, agent, "memflame_find");
      if (result != attach_busy) ask(calls, agent, "memflame_hooks_out");
    }
    let_go(tracee);
    if (result != attach_busy) return;
    if (monotonic_ns() > deadline) refuse("another memflame watches it from inside");
    pause_for(busy_pause_ns);
  }
}

void Attacher::join_run(RemoteCalls& calls, Agent agent, const std::string& run) {
  AttachRequest& request = agent.asked;
  std::memset(request.run, 0, sizeof(request.run));
  std::memcpy(request.run, run.data(), std::min(run.size(), sizeof(request.run) - 1));
  if (!calls.memory().write_value(agent.request, request)) refuse("its memory cannot be written");
  switch (ask(calls, agent, "memflame_find")) {
    case attach_done:
      break;
    case attach_busy:
      refuse("another memflame watches it from inside");
    case attach_in_program:
      refuse("its allocator is part of the program");
    case attach_unfounded:
      refuse("it has no malloc()");
    default:
      refuse("its agent does not answer");
  }
  if (calls.call(agent.join, {}) != attach_done)
    refuse(
        "its agent could not speak to memflame (seccomp, or ulimit "
        "-v?)");
  ask(calls, agent, "memflame_hooks_in");
  AttachRequest after{};
  calls.memory().read(agent.request, after);
  figures_.slots = after.changed;
  figures_.failed_slots = after.failed;
  if (request.is_attached != 0 && after.changed == 0)
    refuse("no call of its allocator can be hooked (another agent in it?)");
}

}  // namespace memflame::inside
