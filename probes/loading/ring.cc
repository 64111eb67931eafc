// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/ring.h"

#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.h"

namespace memflame {

Ring::Ring(int map, uint64_t most_waiting, Handler meet)
    : ring_(ring_buffer__new(map, take, this, nullptr)),
      most_waiting_(most_waiting),
      meet_(std::move(meet)) {
  if (ring_ == nullptr)
    throw Error(std::string("the ring buffer cannot be mapped: ") + std::strerror(errno));
}

Ring::~Ring() { ring_buffer__free(ring_); }

// Called by libbpf, which is C: no exception may pass through it.
int Ring::take(void* ring, void* data, size_t size) {
  auto& self = *static_cast<Ring*>(ring);
  try {
    self.keep({static_cast<const std::byte*>(data), size});
    return 0;
  } catch (...) {
    self.failure_ = std::current_exception();
    return -1;
  }
}

void Ring::keep(std::span<const std::byte> record) {
  meet_(record);
  const size_t padded = (record.size() + 7) / 8 * 8;
  const auto size = std::as_bytes(std::span(&padded, 1));
  waiting_.insert(waiting_.end(), size.begin(), size.end());
  waiting_.insert(waiting_.end(), record.begin(), record.end());
  waiting_.resize(waiting_.size() + padded - record.size());
}

void Ring::consume() {
  ring_buffer__consume(ring_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Ring::fetch(int timeout_ms) {
  ring_buffer__poll(ring_, waiting_.empty() ? timeout_ms : 0);
  // Most records do not wake poll() before the ring fills, so take what is there in any case.
  consume();
}

void Ring::fetch_more() {
  if (waiting_.size() + handling_.size() < most_waiting_) consume();
}

void Ring::handle(const Handler& handle) {
  std::swap(waiting_, handling_);
  for (std::span<const std::byte> rest = handling_; !rest.empty();) {
    size_t size = 0;
    std::memcpy(&size, rest.data(), sizeof(size));
    handle(rest.subspan(sizeof(size), size));
    rest = rest.subspan(sizeof(size) + size);
  }
  handling_.clear();
}

}  // namespace memflame
