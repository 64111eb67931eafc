// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/inside_attach.h"

#include <algorithm>
#include <cstdio>

#include "core/error.h"
#include "core/units.h"
#include "probes/inside/attach/stack_rows.h"
#include "probes/processes/procfs.h"
#include "probes/processes/spaces.h"

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

Attachment::Attachment(InsideSession& session, Exchange& exchange, pid_t pid)
    : session_(session), exchange_(exchange), pid_(pid) {
  if (const std::optional<uid_t> user = user_of_process(pid)) exchange.allow(*user);
  const AttachTarget possible(pid);  // before its code is read, which may take a while
  const uint32_t index = session.expect(pid);
  uint64_t refreshed_ns = monotonic_ns();
  Attacher attacher(pid, published_rows(exchange, index));
  entered_ = attacher.enter(
      exchange.name(),
      [&] {
        session.serve();
        if (monotonic_ns() - refreshed_ns < refresh_interval_ns) return;
        session.refresh(index);
        refreshed_ns = monotonic_ns();
      },
      [&exchange](UniqueFd socket) { exchange.listen_at(std::move(socket)); });
  is_inside_ = true;
}

Attachment::~Attachment() {
  try {
    leave();
  } catch (const std::exception&) {  // what the run ended by is on its way
  }
}

void Attachment::leave() {
  if (!is_inside_) return;
  is_inside_ = false;
  const std::map<pid_t, uint32_t> living = session_.guests();
  for (const auto& [pid, index] : living) {
    if (!is_alive(pid)) continue;
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
  std::vector<std::string> notes{"memflame's agent came into process " + std::to_string(pid_) +
                                 " within " + in_ms(entered_.took_ns) + ", by " +
                                 with_commas(static_cast<int64_t>(entered_.slots)) +
                                 " slots; threads stood still one at a time, for " +
                                 in_ms(entered_.longest_stop_ns) + " at most"};
  if (processes_left_ != 0)
    notes.push_back(
        "its hooks were taken out of " + with_commas(static_cast<int64_t>(processes_left_)) +
        (processes_left_ == 1 ? " process" : " processes") + ", within " + in_ms(left_.took_ns) +
        "; threads stood still for " + in_ms(left_.longest_stop_ns) + " at most");
  if (entered_.failed_slots != 0)
    notes.push_back("slots that could not be changed, so that calls by them are missing: " +
                    with_commas(static_cast<int64_t>(entered_.failed_slots)));
  notes.insert(notes.end(), problems_.begin(), problems_.end());
  return notes;
}

}  // namespace memflame::inside
