// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/inside_session.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "core/clock.h"
#include "probes/inside/exchange/descriptors.h"
#include "probes/loading/kernel_features.h"
#include "probes/processes/heirs.h"
#include "probes/run/side_by_side.h"

namespace memflame::inside {
namespace {

constexpr uint64_t poll_ns = 10'000'000, sampled_poll_ns = 50'000'000;
// Between rounds. A busy thread fills its ring in 0.1 ms, and then waits for the next round.
constexpr uint64_t busy_wait_ns = 100'000, most_wait_ns = 1'000'000;
// If blocks are sampled, memflame may watch for weeks, so it rests for long: who needs it rings.
// Where a thread has met unknown code, others soon do.
constexpr uint64_t most_rest_ns = sampled_poll_ns, asked_lately_ns = 1'000'000'000;
constexpr uint64_t thrift_interval_ns = 2'000'000'000;
constexpr uint64_t most_start_ns = 200'000'000;  // of a program, on a busy machine
constexpr size_t few_sampled_records = 64;       // of the several hundred that a ring has room for
// A round with as many records as this is followed by the next one at once.
constexpr size_t many_records = 128;
// Without --max-wait, programs wait as long as memflame lives rather than lose records. On a
// machine with ten times as much to do as it can, 100 ms in each second lost one record in six.
constexpr uint32_t no_limit = UINT32_MAX;

uint64_t first_mean(const ProbeSettings* own) {
  if (own == nullptr) return 0;
  return own->most_overhead() > 0 ? first_governed_mean : own->sampled_bytes();
}

}  // namespace

InsideSession::InsideSession(const Probe& probe, const ProbeOptions& options, Exchange& exchange,
                             const std::vector<pid_t>& first, const std::string& agent)
    : probe_(probe),
      options_(options),
      sample_bytes_(first_mean(options.own.get())),
      exchange_(exchange),
      command_(options.target.command.empty() || first.size() != 1 ? 0 : first[0]),
      end_(first.size() == 1 && !options_.target.is_selection()
               ? static_cast<int>(::syscall(SYS_pidfd_open, first[0], 0))
               : -1),
      processes_(options_.target, features_without_bpf().exact_rss_stat, Processes::Log::none),
      blocks_(options_.min_size, options_.max_size, options_.max_live, sample_bytes_),
      reader_(exchange_, stacks_, blocks_, ticks_),
      code_(exchange_, processes_.spaces(), [this] { read_rings(); }),
      uncovered_(first, agent),
      guests_({exchange_, reader_, blocks_, code_, processes_, uncovered_}, first,
              options_.target.follow_children),
      bell_(exchange_.control()) {
  allow_many_descriptors();
  if (!options_.forgets_ended) processes_.os().add_up_ended();
  // What was recorded before mappings went is named by them: as they are read, and before those
  // that are gone end.
  processes_.spaces().set_log([this] { read_rings(); });
  reader_.name_functions(processes_.spaces().scripts());
  Control& control = exchange_.control();
  control.ticks_per_ms = ticks_.per_ms();
  control.max_wait_ms = options_.max_wait_ms != 0 ? options_.max_wait_ms : no_limit;
  control.sample_bytes = sample_bytes_;
  control.patience_ms = patience_ms;
  control.free_stacks = uint32_t{options_.free_stacks};
  if (options_.python_heap)
    control.python = python_blocks | (options_.languages ? python_functions : 0U);
  publish(control.heartbeat, now_ticks());
  if (options_.takes_over && options_.memory == 0) {
    takeover_.emplace(ProbeRun{&probe_, options_}, agent);
    uncovered_.relieve_by(*takeover_);
  } else if (command_ != 0 && options_.target.follow_children) {
    uncovered_.hear_from(witness_.emplace());
  }
  if (options_.target.is_selection()) selection_.emplace();
  if (options_.own && options_.own->most_overhead() > 0)
    governor_.emplace(options_.own->most_overhead(), options_.max_live,
                      options_.target.follow_children);
}

void InsideSession::leave_out(pid_t pid, const std::string& why) {
  guests_.lose(pid);
  uncovered_.forget(pid);
  if (selection_) selection_->refuse(pid, why);
}

uint32_t InsideSession::expect(pid_t pid) {
  uncovered_.add(pid);
  return guests_.expect(pid);
}

bool InsideSession::is_watched(pid_t pid) const {
  return guests_.living().contains(pid) || uncovered_.has_silent_agent(pid);
}

// What was asked for, but is not watched yet.
void InsideSession::look_for_others() {
  selection_->look({.present = [this] { return processes_.present(); },
                    .is_watched = [this](pid_t pid) { return is_watched(pid); },
                    .enter = counts_ ? enter_ : nullptr});
}

uint64_t InsideSession::arm() {
  // Otherwise the kernel makes each wait of this thread up to 50 µs longer, in which rings fill.
  ::prctl(PR_SET_TIMERSLACK, 1);
  armed_ns_ = monotonic_ns();
  counts_ = true;
  if (options_.events) {
    events_.emplace(armed_ns_);
    told_.emplace(blocks_, *events_, ticks_, options_.free_stacks);
    reader_.tell(*told_);
  }
  beat();
  longest_silence_ticks_ = 0;
  publish(exchange_.control().holds, uint32_t{!options_.target.command.empty()});
  publish(exchange_.control().reading, exchange_.run());
  return armed_ns_;
}

void InsideSession::disarm() {
  if (options_.target.follow_children) settle_executions();
  see_if_given_up();
  publish(exchange_.control().reading, 0U);
  counts_ = false;
  if (takeover_) takeover_->disarm();
  uncovered_.take_left();
  if (selection_) look_for_others();
  ticks_.refine();
  guests_.poll();
  reader_.read_rest();
  guests_.see_ends();
  processes_.os().read_ends();
  if (governor_) governor_->finish(work(), processes_.os());
}

// Programs that have just been executed are given time to show whether an agent is in them.
void InsideSession::settle_executions() {
  round();
  const uint64_t until = monotonic_ns() + most_start_ns;
  while (!uncovered_.settle(knows_, loses_) && monotonic_ns() < until)
    for (int waits = 0; waits < 20; ++waits) {
      wait(most_wait_ns);
      round();
    }
  uncovered_.excuse_starting(knows_);
}

void InsideSession::beat() {
  const uint64_t now = now_ticks();
  longest_silence_ticks_ = std::max(longest_silence_ticks_, now - round_ticks_);
  round_ticks_ = now;
  publish(exchange_.control().heartbeat, now);
}

// Agents take memflame for gone after patience_ms. Before that only a program that writes over the
// exchange makes it look so.
void InsideSession::see_if_given_up() {
  uint32_t& reading = exchange_.control().reading;
  if (!counts_ || given_up_ns_ != 0 || taken_once(reading) == exchange_.run()) return;
  if (longest_silence_ticks_ >= patience_ms * ticks_.per_ms()) {
    given_up_ns_ = monotonic_ns();
  } else {
    is_written_over_ = true;
    publish(reading, exchange_.run());
  }
}

size_t InsideSession::read_rings() {
  beat();
  see_if_given_up();
  return read_records();
}

size_t InsideSession::read_records() {
  if (!governor_) return reader_.read();
  const uint64_t before = thread_cpu_ns();
  const size_t records = reader_.read();
  // Looking for records costs the same at all rates.
  if (records != 0) read_ns_ += thread_cpu_ns() - before;
  return records;
}

// One round: records, then guests. Whatever a guest that is let in now records is read later.
size_t InsideSession::round() {
  const size_t records = read_rings();
  guests_.poll();
  return records;
}

// Nothing is read, but agents see that memflame lives: so they wait.
void InsideSession::rest() {
  beat();
  see_if_given_up();
  guests_.poll();
}

void InsideSession::breathe() {
  if (counts_ && now_ticks() - round_ticks_ > ticks_.per_ms() / 2) round();
}

// Until a guest comes, an agent needs memflame, the only process ends, or the time is over. Returns
// whether it has just ended: its children may go on.
bool InsideSession::wait(uint64_t ns) {
  std::array<pollfd, 3> entries{pollfd{.fd = exchange_.news(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = end_.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = bell_.rung(), .events = POLLIN, .revents = 0}};
  const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(ns)};
  // Whose ring is full waits at most 1 ms where rests are that short.
  bell_.begin_rest(is_sampled() ? rests_until_bell : rests_until_arrival);
  ::ppoll(entries.data(), entries.size(), &time, nullptr);
  bell_.end_rest();
  if (entries[2].revents != 0) bell_.answer();
  if (entries[1].revents == 0) return false;
  end_.reset();
  return true;
}

uint64_t InsideSession::next_wait(size_t records) {
  if (!is_sampled()) {
    idle_ns_ = records == 0 ? std::clamp(idle_ns_ * 2, busy_wait_ns, most_wait_ns) : busy_wait_ns;
    return idle_ns_;
  }
  const bool may_rest = monotonic_ns() - guests_.asked_ns() > asked_lately_ns;
  idle_ns_ = std::clamp(records < few_sampled_records ? idle_ns_ * 2 : idle_ns_ / 2, busy_wait_ns,
                        may_rest ? most_rest_ns : most_wait_ns);
  return idle_ns_;
}

void InsideSession::poll() {
  const uint64_t began = monotonic_ns();
  do {
    const bool is_full = events_ && events_->is_full();
    if (is_full) rest();
    const size_t records = is_full ? 0 : round();
    if (records < many_records && wait(next_wait(records))) break;
  } while (monotonic_ns() - began < (is_sampled() ? sampled_poll_ns : poll_ns));
  guests_.see_ends();
  processes_.poll_os();
  ticks_.refine();
  if (governor_ && counts_)
    if (const auto mean = governor_->poll([this] { return work(); }, processes_.os()))
      publish(exchange_.control().sample_bytes, *mean);
  if (options_.target.follow_children) uncovered_.look(knows_, loses_);
  if (takeover_) takeover_->poll();
  // If somebody looks, figures move between two looks.
  if (counts_ && !looks_ && !events_) take_over_ended();
  uncovered_.take_left();
  if (command_ != 0 && options_.target.follow_children) reap_orphans();
  if (selection_ && selection_->is_time()) look_for_others();
  if (options_.memory != 0 && monotonic_ns() >= next_thrift_ns_) save_memory();
}

// Rings grow as threads come that write. With --memory, those that are read are emptied once all
// together have their part.
void InsideSession::save_memory() {
  next_thrift_ns_ = monotonic_ns() + thrift_interval_ns;
  if (exchange_.exchange_bytes_used() > options_.ring_bytes) reader_.save_memory();
  const uint64_t ends = processes_.os().ends();
  if (!options_.forgets_ended || ends == ends_) return;
  ends_ = ends;
  blocks_.forget([this](SpaceId space) { return processes_.os().has_ended(space); });
}

AgentWork InsideSession::work() const {
  const RingReader::Statistics& read = reader_.statistics();
  const uint64_t sampled = read.stacks - read.free_stacks;
  // The stack of a free costs what the one of an allocation costs, but only the latter is measured.
  const double stacks_of_each =
      sampled == 0 ? 1 : static_cast<double>(read.stacks) / static_cast<double>(sampled);
  return {.sampled = sampled,
          .stand_for = blocks_.stand_for(),
          .frees = read.records - read.stacks,
          .sampled_seconds = static_cast<double>(guests_.counts().sample_ticks) /
                             static_cast<double>(ticks_.per_ms()) / 1e3 * stacks_of_each,
          .read_seconds = static_cast<double>(read_ns_) / 1e9,
          .live = blocks_.table().size()};
}

void InsideSession::catch_up() {
  round();
  name_stacks();
}

}  // namespace memflame::inside
