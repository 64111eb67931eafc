// SPDX-License-Identifier: BSD-2-Clause
// The events of a run whose probe tells of each block.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "probes/run/event_log.h"

namespace memflame {

struct LoadedProbe;
class StackLog;

class EventFeed {
 public:
  EventFeed() = default;
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;
  virtual ~EventFeed() = default;

  virtual EventLog& log() = 0;
  virtual void end(SpaceId space, uint64_t time_ns) = 0;  // CLOCK_MONOTONIC
  // What has come since the call before. `drain` reads what is in the ring, which comes back here.
  virtual EventBatch take(const LoadedProbe& probe, const StackLog& stacks,
                          const std::function<void()>& drain) = 0;
  // No event that comes will have these numbers: others may get them.
  virtual void forget(std::span<const uint32_t> stack_numbers) = 0;
  // The key of a stack, by its number in events, which are below stack_numbers().
  virtual uint64_t stack_key(uint32_t number) const = 0;
  virtual uint32_t stack_numbers() const = 0;
};

}  // namespace memflame
