// SPDX-License-Identifier: BSD-2-Clause
// A running Go program whose heap profile is read, and what was read as a Recording.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "core/error.h"
#include "core/recording.h"
#include "core/unique_fd.h"
#include "probes/heaps/go/go_heap.h"

namespace memflame {

// A program that has nothing of Go in it.
struct NotGo : Error {
  using Error::Error;
};

class GoProcess {
 public:
  // Throws Error if there is no such process, it cannot be read, or has no runtime of Go that keeps
  // a heap profile in a known form; NotGo if it has none at all.
  explicit GoProcess(pid_t pid);
  ~GoProcess();
  GoProcess(const GoProcess&) = delete;
  GoProcess& operator=(const GoProcess&) = delete;

  pid_t pid() const { return pid_; }
  const std::string& name() const { return name_; }  // "server (1234)"
  uint64_t rate() const;  // bytes from one sample to the next; 0: it is switched off
  // Whether the program's code can ask for its heap profile. If not, the linker switches it off.
  bool has_profile() const;
  bool has_ended() const;

  // What the profile says now. Throws Error if it cannot be read, or the process ends meanwhile.
  GoHeap heap() const;
  // Where the blocks of a bucket were allocated, in this space.
  RawStack stack_of(const GoBucket& bucket, SpaceId space, uint64_t now_ns) const;
  // Frees what stack_of() has read of the program; it reads that again when it is needed.
  void forget_code() const;

  const GoAddresses& addresses() const { return addresses_; }

  // Columns inuse_space, inuse_objects, alloc_space and alloc_objects, as pprof calls them, of
  // heap().
  Recording read() const;
  // The same of a heap, without the process's mappings. `unpublished`: also since_gc_space and
  // since_gc_objects, what was allocated since the collection that the others are of.
  Recording recording_of(const GoHeap& heap, SpaceId space, bool unpublished = false) const;

  struct File;

 private:
  friend class GoProfileSwitch;
  bool read_memory(uint64_t address, std::span<std::byte> to) const;

  pid_t pid_;
  std::string name_;
  UniqueFd handle_;  // a pidfd: a process of the same id later is another one
  GoAddresses addresses_;
  std::unique_ptr<File> file_;
};

// "1 in 512 KiB allocated, by Go's runtime"; "" if all blocks are sampled.
std::string go_sampling_in_words(uint64_t rate);
inline constexpr const char* go_is_early_note =
    "Go's collector has published no figures yet: what was freed so far counts as in use";

// Switches the profile of a program on, by writing the usual rate into its memory, and off again
// when it goes out of scope. If memflame is killed, the program goes on sampling.
class GoProfileSwitch {
 public:
  explicit GoProfileSwitch(const GoProcess& process);
  ~GoProfileSwitch();
  GoProfileSwitch(const GoProfileSwitch&) = delete;
  GoProfileSwitch& operator=(const GoProfileSwitch&) = delete;

 private:
  bool write(uint64_t rate) const;

  const GoProcess& process_;
  uint64_t address_ = 0;
};

}  // namespace memflame
