// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/losses.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "core/units.h"

namespace memflame {

void add(bpf::counters& sum, const bpf::counters& more) {
  constexpr size_t words = sizeof(bpf::counters) / sizeof(uint64_t);
  std::array<uint64_t, words> sums{}, others{};
  std::memcpy(sums.data(), &sum, sizeof(sum));
  std::memcpy(others.data(), &more, sizeof(more));
  for (size_t i = 0; i < words; ++i) sums[i] += others[i];
  std::memcpy(&sum, sums.data(), sizeof(sum));
}

Losses losses_of(const bpf::counters& c) {
  Losses losses;
  const auto bytes = [](uint64_t n) { return static_cast<int64_t>(n); };
  losses.add(Loss::live_table_full, c.live_full_events, bytes(c.live_full_bytes));
  losses.add(Loss::stack_table_full, c.stack_full_events, bytes(c.stack_full_bytes));
  losses.add(Loss::ring_full, c.ring_full_events + c.event_drops,
             bytes(c.ring_full_bytes + c.event_drop_bytes));
  losses.add(Loss::process_table_full, c.process_full);
  losses.add(Loss::state_unavailable, c.no_state_events, bytes(c.no_state_bytes));
  losses.add(Loss::free_miss, c.free_misses);
  losses.add(Loss::scripts_unread, c.scripts_unread);
  return losses;
}

std::string lost_in_words(const Losses& losses) {
  std::string causes;
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = losses[static_cast<Loss>(i)];
    if (loss_info[i].kind != LossKind::missing || (count.events == 0 && count.bytes == 0)) continue;
    causes += (causes.empty() ? ": " : ", ") + std::string(loss_info[i].label) + " " +
              with_commas(static_cast<int64_t>(count.events));
    if (count.bytes != 0) causes += " (" + iec_bytes(count.bytes) + ")";
  }
  if (causes.empty()) return "";
  return "lost " + with_commas(static_cast<int64_t>(losses.lost_events())) + causes;
}

}  // namespace memflame
