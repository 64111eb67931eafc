// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/run_loop.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "probes/processes/command.h"
#include "probes/processes/spaces.h"
#include "probes/run/memory_plan.h"

namespace memflame {
namespace {

constexpr double status_interval_seconds = 0.5;

class StatusLine {
 public:
  StatusLine(bool on, Unit unit) : on_(on), unit_(unit) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void clear() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
    shown_ = false;
  }

  // The maximum of memflame's own memory that update() has seen.
  uint64_t own_bytes() const { return own_bytes_; }

  void update(double seconds, const LoopParts& parts) {
    if (seconds < next_) return;
    next_ = seconds + status_interval_seconds;
    const uint64_t own = own_memory();
    own_bytes_ = std::max(own_bytes_, own);
    if (!on_) return;
    const StatusFigures now = parts.figures();
    std::fprintf(stderr, "\r\033[K%.1f s  %s events  %s  lost %s  memory %s", seconds,
                 with_commas(static_cast<int64_t>(now.events)).c_str(),
                 human(static_cast<int64_t>(now.amount), {"", unit_}).c_str(),
                 with_commas(static_cast<int64_t>(now.lost)).c_str(),
                 iec_bytes(static_cast<int64_t>(own + now.table_bytes)).c_str());
    shown_ = true;
  }

 private:
  bool on_, shown_ = false;
  Unit unit_;
  double next_ = 0;
  uint64_t own_bytes_ = 0;
};

bool has_ended(const UniqueFd& process) {
  pollfd entry{.fd = process.get(), .events = POLLIN, .revents = 0};
  return !process || ::poll(&entry, 1, 0) > 0;
}

void say_ready(int fd) {
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(fd, "1\n", 2);
}

// Whether the processes that the run is for have ended, or the command and all that it started.
bool is_over(const LoopParts& parts, Ends& ends) {
  if (!ends.all()) return false;
  if (!parts.descendants) return true;
  for (const pid_t pid : parts.descendants()) ends.add(pid);
  const size_t living = ends.living();
  if (living != 0) ends.say_outlived(living);
  return living == 0;
}

// Nothing counts until then, so the run is like one that begins at that time.
void wait_until_resumed(const LoopParts& parts, Ends& ends, const RunSignals& signals,
                        Observer& observer, RunInfo& info) {
  const uint64_t began = monotonic_ns();
  while (!observer.resumes(parts.run)) {
    parts.poll();
    const int signal = signals.arrived();
    if (is_stop(signal) || is_over(parts, ends))
      throw Error(std::string("counting was never resumed, so nothing was recorded: ") +
                      (is_stop(signal) ? "memflame was ended" : "the watched program ended") +
                      " while it was paused (--start-paused)",
                  ExitCode::failure);
    if (signal != 0) say_unused(signal);
  }
  info.paused_seconds = seconds_since(began);
}

}  // namespace

void Ends::say_outlived(size_t processes) {
  if (std::exchange(has_said_outlived_, true)) return;
  const bool is_one = processes == 1;
  std::fprintf(stderr,
               "memflame: the command ended; %zu %s that it started %s on: watching %s (Ctrl-C "
               "ends that)\n",
               processes, is_one ? "process" : "processes", is_one ? "runs" : "run",
               is_one ? "it" : "them");
}

void Ends::add(pid_t pid) {
  any_ = true;
  fds_.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

// Asks no more of them than it must: there may be thousands.
bool Ends::all() {
  while (!fds_.empty() && has_ended(fds_.back())) fds_.pop_back();
  return any_ && fds_.empty();
}

size_t Ends::living() {
  std::erase_if(fds_, has_ended);
  return fds_.size();
}

double seconds_since(uint64_t start_ns) {
  return static_cast<double>(monotonic_ns() - start_ns) / 1e9;
}

uint64_t begin_counting(const LoopParts& parts, const ProbeOptions& options, Command* command,
                        uint64_t began_ns, Ends& ends, const RunSignals& signals,
                        Observer& observer, RunInfo& info) {
  const auto release = [&] {
    info.attach_seconds = seconds_since(began_ns);
    say_ready(options.ready_fd);
    if (options.status_line && command == nullptr && !options.start_paused)
      std::fprintf(stderr, "memflame: counting, after %.2f s of attaching\n", info.attach_seconds);
    if (command != nullptr) command->release();
  };
  if (options.start_paused) {
    release();
    wait_until_resumed(parts, ends, signals, observer, info);
  }
  const uint64_t armed_ns = parts.arm();
  if (!options.start_paused) release();
  return armed_ns;
}

std::string pause_note(const RunInfo& info) {
  if (info.paused_seconds == 0) return "";
  std::array<char, 64> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f s", info.paused_seconds);
  return std::string("counting began after a pause of ") + seconds.data() +
         " (--start-paused): blocks from before that are not known";
}

void count_until_end(const LoopParts& parts, const ProbeOptions& options, Ends& ends,
                     const RunSignals& signals, uint64_t armed_ns, Observer& observer,
                     RunInfo& info) {
  StatusLine status(options.status_line, parts.unit);
  while (!is_over(parts, ends)) {
    parts.poll();
    const double seconds = seconds_since(armed_ns);
    if (options.seconds && seconds >= *options.seconds) break;
    if (parts.wants_end()) break;
    const int signal = signals.arrived();
    if (is_stop(signal)) {
      info.stopped = true;
      info.interrupted = signal == SIGTERM;
      break;
    }
    if (signal != 0) status.clear();
    if (signal == SIGUSR1) observer.asked(parts.run, seconds);
    if (signal == SIGUSR2) say_unused(signal);
    if (!observer.look(parts.run, seconds)) break;
    status.update(seconds, parts);
  }
  info.own_bytes = std::max(status.own_bytes(), own_memory());
}

}  // namespace memflame
