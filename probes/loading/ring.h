// SPDX-License-Identifier: BSD-2-Clause
// The records that BPF programs send. They are taken from the kernel's ring as soon as possible, so
// that it does not fill. Here they wait until the mappings that they refer to are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <vector>

struct ring_buffer;

namespace memflame {

class Ring {
 public:
  using Handler = std::function<void(std::span<const std::byte> record)>;

  // `map`: the descriptor of the ring's map. `meet` is called with each record when it is taken
  // from the ring. While `most_waiting` bytes wait here, fetch_more() takes nothing. Throws Error.
  Ring(int map, uint64_t most_waiting, Handler meet);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Takes all records from the ring. If none waits here, first waits at most `timeout_ms` for one.
  void fetch(int timeout_ms);
  // While records are handled: takes the records that have come since. If too much waits here, they
  // stay in the ring, and a ring that fills keeps the programs from copying more stacks.
  void fetch_more();
  // Calls `handle` with each waiting record, in order.
  void handle(const Handler& handle);

 private:
  static int take(void* ring, void* data, size_t size);
  void keep(std::span<const std::byte> record);
  void consume();

  ring_buffer* ring_ = nullptr;
  uint64_t most_waiting_;
  Handler meet_;
  std::exception_ptr failure_;  // thrown by meet_, kept because libbpf is C
  // The records, each behind its size. Both are padded to 8 bytes, so that records stay aligned as
  // they are in the kernel's ring.
  std::vector<std::byte> waiting_;
  std::vector<std::byte> handling_;
};

}  // namespace memflame
