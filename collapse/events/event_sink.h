// SPDX-License-Identifier: BSD-2-Clause
// What takes the events of a run, one part after the other in the order of time.
#pragma once

#include <cstdint>
#include <span>

#include "core/events.h"

namespace memflame {

// A part of a checkpoint. A checkpoint comes in one or more parts, with nothing between them. Each
// block is in one of them; they have no order.
struct CheckpointPart {
  uint64_t time_ns = 0;  // of the whole checkpoint
  bool is_first = false, is_last = false;
  std::span<const LiveBlock> blocks;
};

class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  // What the spans refer to is valid until the call returns.
  virtual void events(std::span<const Event> events) = 0;
  virtual void gap(const EventGap& gap) = 0;
  virtual void checkpoint(const CheckpointPart& part) = 0;
};

}  // namespace memflame
