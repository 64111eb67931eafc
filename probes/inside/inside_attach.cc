// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/inside_attach.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "probes/inside/attach/python_target.h"
#include "probes/inside/attach/stack_rows.h"
#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame::inside {
namespace {

constexpr uint64_t refresh_interval_ns = 100'000'000;
constexpr size_t most_problems = 4;

std::string in_ms(uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f ms", static_cast<double>(ns) / 1e6);
  return text;
}

}  // namespace

// Refuses what it can before it touches the first process and reads its code, which may take a
// while.
Attachment::Attachment(InsideSession& session, Exchange& exchange, const std::vector<pid_t>& pids,
                       Wants wants)
    : session_(session), exchange_(exchange), networks_{network_of(::getpid())} {
  if (wants == Wants::all)
    for (const pid_t pid : pids) check(AttachTarget(pid));
  try {
    if (wants == Wants::some)
      enter_some(pids);
    else
      enter_all(pids);
  } catch (...) {
    leave();
    throw;
  }
}

// Throws Error if Python's allocator is to be hooked in a process in which that is not possible.
void Attachment::check(const AttachTarget& target) const {
  if (!session_.wants_python()) return;
  if (const std::string why = why_no_python_heap(target); !why.empty())
    throw Error("process " + std::to_string(target.pid()) +
                    ": Python's own blocks cannot be counted: " + why + "; leave out --python-heap",
                ExitCode::failure);
}

void Attachment::enter_all(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) enter(pid);
  if (!session_.wants_python()) return;
  for (const auto& [pid, index] : session_.guests()) {
    if (std::ranges::find(pids, pid) == pids.end()) continue;
    const uint32_t state = taken_once(exchange_.process(index).python);
    if (state != python_hooked && state != python_changed)
      throw Error("process " + std::to_string(pid) +
                      ": the tables of Python's allocator were not found; leave out --python-heap",
                  ExitCode::failure);
  }
}

void Attachment::enter_some(const std::vector<pid_t>& pids) {
  std::optional<Error> first;
  for (const pid_t pid : pids)
    if (std::optional<Error> why = try_to_enter(pid); !first) first = std::move(why);
  if (pids_.empty() && first)
    throw Error(
        (pids.size() == 1 ? "" : "none of the processes can be watched from inside: the first: ") +
            std::string(first->what()),
        first->exit_code);
}

// Returns why it could not, if it could not.
std::optional<Error> Attachment::try_to_enter(pid_t pid) {
  try {
    check(AttachTarget(pid));
    enter(pid);
    return std::nullopt;
  } catch (const Error& error) {
    entering_ = 0;
    const std::string why = error.what() + session_.tables_in_words();
    if (is_alive(pid)) session_.leave_out(pid, why);
    return Error(why, error.exit_code);
  }
}

bool Attachment::enter_later(pid_t pid) { return !try_to_enter(pid); }

void Attachment::enter(pid_t pid) {
  entering_ = pid;
  const uint32_t index = session_.expect(pid);
  uint64_t refreshed_ns = monotonic_ns();
  Attacher attacher(pid, published_rows(exchange_, index));
  const std::string network = network_of(pid);
  const AttachFigures figures = attacher.enter(
      exchange_.address(), networks_.contains(network),
      [&] {
        session_.serve();
        if (monotonic_ns() - refreshed_ns < refresh_interval_ns) return;
        session_.refresh(index);
        refreshed_ns = monotonic_ns();
      },
      [&](UniqueFd socket) {
        exchange_.listen_at(std::move(socket));
        networks_.insert(network);
      });
  entered_.took_ns = std::max(entered_.took_ns, figures.took_ns);
  entered_.longest_stop_ns = std::max(entered_.longest_stop_ns, figures.longest_stop_ns);
  entered_.slots += figures.slots;
  entered_.failed_slots += figures.failed_slots;
  pids_.push_back(pid);
  entering_ = 0;
}

Attachment::~Attachment() {
  try {
    leave();
  } catch (const std::exception&) {  // what the run ended by is on its way
  }
}

void Attachment::leave() {
  if (has_left_) return;
  has_left_ = true;
  const std::map<pid_t, uint32_t> living = session_.guests();
  for (const auto& [pid, index] : living) {
    // It could not come into that one, in which the agent of another memflame may be.
    if (pid == entering_ || !is_alive(pid)) continue;
    session_.refresh(index);
    Attacher attacher(pid, published_rows(exchange_, index));
    AttachFigures figures;
    const std::string problem = attacher.leave(figures, [this] { session_.serve(); });
    left_.took_ns = std::max(left_.took_ns, figures.took_ns);
    left_.longest_stop_ns = std::max(left_.longest_stop_ns, figures.longest_stop_ns);
    ++processes_left_;
    if (problem.empty() && figures.failed_slots == 0) continue;
    if (problems_.size() < most_problems)
      problems_.push_back("hooks of process " + std::to_string(pid) +
                          " are still in, and only call on: " +
                          (problem.empty() ? "some slots cannot be written" : problem));
  }
}

std::vector<std::string> Attachment::notes() const {
  const std::string where = pids_.size() == 1 ? "process " + std::to_string(pids_[0]) + " within "
                                              : with_commas(static_cast<int64_t>(pids_.size())) +
                                                    " processes, into each within ";
  std::vector<std::string> notes{"memflame's agent came into " + where + in_ms(entered_.took_ns) +
                                 ", by " + with_commas(static_cast<int64_t>(entered_.slots)) +
                                 " slots; threads stood still one at a time, for " +
                                 in_ms(entered_.longest_stop_ns) + " at most"};
  if (processes_left_ != 0)
    notes.push_back("its hooks were taken out of " +
                    with_commas(static_cast<int64_t>(processes_left_)) +
                    (processes_left_ == 1 ? " process, within " : " processes, of each within ") +
                    in_ms(left_.took_ns) + "; threads stood still for " +
                    in_ms(left_.longest_stop_ns) + " at most");
  if (entered_.failed_slots != 0)
    notes.push_back("slots that could not be changed, so that calls by them are missing: " +
                    with_commas(static_cast<int64_t>(entered_.failed_slots)));
  notes.insert(notes.end(), problems_.begin(), problems_.end());
  return notes;
}

}  // namespace memflame::inside
