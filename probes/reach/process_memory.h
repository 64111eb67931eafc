// SPDX-License-Identifier: BSD-2-Clause
// The memory of a stopped process, read by process_vm_readv(2). Pages that were never touched are
// left alone (/proc/PID/pagemap): they hold no pointer. Memory: 64 MiB for small ranges, which are
// read in chunks.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/unique_fd.h"
#include "probes/reach/flood.h"

namespace memflame {

class ProcessMemory {
 public:
  // Stops reading at `deadline_ns` (CLOCK_MONOTONIC).
  ProcessMemory(pid_t pid, uint64_t deadline_ns);

  // As a WordReader.
  void read(std::span<const AddressRange> ranges,
            const std::function<void(size_t range, MemoryWords words)>& take);
  // The words at this address that can be read, at most `count`; valid until the next call.
  MemoryWords words_at(uint64_t address, size_t count);

  uint64_t bytes_read() const { return bytes_read_; }
  // Bytes of ranges that could not be read.
  uint64_t bytes_unread() const { return bytes_unread_; }
  bool has_ended() const { return has_ended_; }  // the process
  bool is_late() const { return is_late_; }      // some ranges were not read for lack of time

 private:
  using Take = std::function<void(MemoryWords words)>;

  void read_range(const AddressRange& range, const Take& take);
  void read_long(const AddressRange& range, const Take& take);
  bool read_by_chunk(const AddressRange& range, const Take& take);
  std::vector<AddressRange> present_parts(const AddressRange& range);
  size_t copy(uint64_t address, uint64_t* into, size_t bytes);
  bool is_over();

  struct Chunk {
    uint64_t address = 0;  // 0: none
    uint32_t bytes = 0;    // of it that could be read
  };

  pid_t pid_;
  uint64_t deadline_ns_;
  UniqueFd pagemap_;
  std::vector<uint64_t> buffer_;
  std::vector<uint64_t> entries_;  // of pagemap
  std::vector<Chunk> chunks_;      // by place in cache_
  std::vector<uint64_t> cache_;
  uint64_t bytes_read_ = 0, bytes_unread_ = 0;
  uint32_t calls_ = 0;
  bool has_ended_ = false, is_late_ = false;
};

}  // namespace memflame
