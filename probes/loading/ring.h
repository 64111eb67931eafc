// SPDX-License-Identifier: BSD-2-Clause
// The records that BPF programs send. They are taken from the kernel's ring as soon as possible, so
// that it does not fill, and wait here until what they refer to is known.
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
  // from the ring. If `most_waiting` bytes wait here, fetch_more() takes no more. Throws Error.
  Ring(int map, uint64_t most_waiting, Handler meet);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Takes what is in the ring. If no record waits here, waits for one first, at most `timeout_ms`.
  void fetch(int timeout_ms);
  // While records are handled: takes what has come since. If much is waiting, it stays in the ring,
  // which keeps the programs from copying more stacks.
  void fetch_more();
  // Calls `handle` with each record that waits, in order.
  void handle(const Handler& handle);

 private:
  static int take(void* ring, void* data, size_t size);
  void keep(std::span<const std::byte> record);
  void consume();

  ring_buffer* ring_ = nullptr;
  uint64_t most_waiting_;
  Handler meet_;
  std::exception_ptr failure_;  // of meet_, which libbpf's code calls
  // Each record behind its size, both padded to 8 bytes: records are aligned in the kernel's ring,
  // and stay so.
  std::vector<std::byte> waiting_;
  std::vector<std::byte> handling_;
};

}  // namespace memflame
