// SPDX-License-Identifier: BSD-2-Clause
#include "core/stop_request.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>

namespace memflame {
namespace {

std::atomic<unsigned> stops_taken = 0;
static_assert(std::atomic<unsigned>::is_always_lock_free);  // signal handlers count in it

constexpr std::array stop_signals_seen{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

}  // namespace

void note_stop() noexcept { ++stops_taken; }

StopRequest::StopRequest() : before_(stops_taken) {}

bool StopRequest::is_made() const {
  if (stops_taken != before_) return true;
  sigset_t pending;
  ::sigemptyset(&pending);
  return ::sigpending(&pending) == 0 &&
         std::any_of(stop_signals_seen.begin(), stop_signals_seen.end(),
                     [&](int signal) { return ::sigismember(&pending, signal) == 1; });
}

}  // namespace memflame
