// SPDX-License-Identifier: BSD-2-Clause
// The kernel's own log of executable mappings, exec and exit of all processes (perf events without
// samples), so that the code of a process that lives only for a moment can be named.
//
// A thread empties the kernel's rings when they are half full: the main one may be attaching, or
// wait for a processor, while thousands of other processes begin, and each maps a dozen files.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/unique_fd.h"

namespace memflame {

struct SidebandRecord {
  enum class Kind : uint8_t { mapping, exec, exit } kind = Kind::mapping;
  pid_t pid = 0;
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint64_t start = 0, end = 0, offset = 0;
  uint64_t generation = 0;  // of the inode
  uint64_t device = 0, inode = 0;
  std::string path;
};

class Sideband {
 public:
  // Starts the log on every online CPU. Throws Error.
  Sideband();
  ~Sideband();
  Sideband(const Sideband&) = delete;
  Sideband& operator=(const Sideband&) = delete;

  // Hands over the records since the last call. They are in order only within each CPU.
  void drain(const std::function<void(const SidebandRecord&)>& take);
  uint64_t lost() const { return lost_; }
  // What was lost so far concerns nobody who is watched.
  void forget_lost() { lost_ = 0; }

 private:
  struct Ring {
    UniqueFd event;
    void* memory = nullptr;
    size_t bytes = 0;  // of the records, without the page before them
  };
  void empty_when_filling(const std::stop_token& stop);
  void empty_rings();
  void empty(Ring& ring);
  void read(std::span<const std::byte> record,
            const std::function<void(const SidebandRecord&)>& take);

  std::vector<Ring> rings_;
  UniqueFd ending_;
  uint64_t lost_ = 0;
  std::mutex mutex_;                // of the rings' tails and of what was taken from them
  std::vector<std::byte> records_;  // whole ones, as the kernel wrote them
  std::jthread thread_;             // last member: starts when all others are there
};

}  // namespace memflame
