// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/events/address_guess.h"

#include <algorithm>

namespace memflame {
namespace {

// glibc's malloc: 8 bytes before each block, 16 bytes apart, at least 32.
constexpr uint64_t apart = 16, least = 32, before_block = 8;

uint64_t room_of(uint64_t size) {
  return std::max(least, (size + before_block + apart - 1) / apart * apart);
}

}  // namespace

void AddressGuess::clear() {
  seen_.clear();
  newest_.clear();
  last_.clear();
  freed_.assign(1, Free{});
  behind_ = 0;
}

const AddressGuess::Seen* AddressGuess::seen(BlockNumber block) {
  const Seen& slot = seen_[static_cast<uint64_t>(block)];
  return slot.block == block && block != BlockNumber::none ? &slot : nullptr;
}

void AddressGuess::freed(BlockNumber block) {
  const Seen* const was = seen(block);
  if (was == nullptr) return;
  uint32_t& list = newest(was->size);
  freed_.push_back({.address = was->address, .older = list});
  list = static_cast<uint32_t>(freed_.size() - 1);
}

AddressGuess::Told AddressGuess::tell(const Event& event) {
  const Seen* const old = seen(event.moved);
  Told told{.way = in_place};
  if (old == nullptr || old->address != event.address) {
    freed(event.moved);
    told = tell_new(event);
  }
  allocated(event);
  return told;
}

AddressGuess::Told AddressGuess::tell_new(const Event& event) {
  uint32_t* link = &newest(event.size);
  for (uint8_t way = 0; way < next && *link != 0; ++way, link = &freed_[*link].older)
    if (freed_[*link].address == event.address) {
      *link = freed_[*link].older;
      return {.way = way};
    }
  if (event.address == behind_) return {.way = next};
  const auto from_last = static_cast<int64_t>(event.address - last_[event.stack.index]);
  constexpr auto sixteen = static_cast<int64_t>(apart);
  if (from_last % sixteen == 0) return {.way = step_of_sixteen, .step = from_last / sixteen};
  return {.way = step, .step = from_last};
}

bool AddressGuess::understand(Event& event, Told told) {
  const Seen* const old = seen(event.moved);
  if (told.way == in_place) {
    if (old == nullptr) return false;
    event.address = old->address;
  } else {
    freed(event.moved);
    if (!understand_new(event, told)) return false;
  }
  allocated(event);
  return true;
}

bool AddressGuess::understand_new(Event& event, Told told) {
  if (told.way == next) {
    event.address = behind_;
  } else if (told.has_step()) {
    const uint64_t unit = told.way == step_of_sixteen ? apart : 1;
    event.address = last_[event.stack.index] + static_cast<uint64_t>(told.step) * unit;
  } else {
    uint32_t* link = &newest(event.size);
    for (uint8_t i = 0; i < told.way && *link != 0; ++i) link = &freed_[*link].older;
    if (*link == 0) return false;
    event.address = freed_[*link].address;
    *link = freed_[*link].older;
  }
  return true;
}

void AddressGuess::allocated(const Event& event) {
  seen_[static_cast<uint64_t>(event.block)] = {
      .block = event.block, .address = event.address, .size = event.size};
  last_[event.stack.index] = event.address;
  behind_ = event.address + room_of(event.size);
}

}  // namespace memflame
