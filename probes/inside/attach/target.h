// SPDX-License-Identifier: BSD-2-Clause
// A process that an agent is to be brought into: whether that is possible, and what of it memflame
// must know for that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "probes/inside/attach/remote_memory.h"
#include "probes/inside/attach/tracee.h"

namespace memflame::inside {

// What code an address belongs to, as far as it matters for where a thread may be interrupted.
enum class Place : uint8_t { program, library_c, loader, allocator, agent, kernel };

// The process's network namespace, in which its agent looks for memflame's socket; "" if that is
// not known.
std::string network_of(pid_t pid);

class AttachTarget {
 public:
  // Throws Error that says why an agent cannot be brought in.
  explicit AttachTarget(pid_t pid);

  pid_t pid() const { return pid_; }
  const RemoteMemory& memory() const { return memory_; }
  const LibraryFunctions& functions() const { return functions_; }
  // Reads again what is loaded.
  void look();
  // The agent has just been loaded: `handle` is what dlopen() gave. Cheaper than look().
  bool take_agent(uint64_t handle);
  Place place_of(uint64_t address) const;
  // "/lib/libc.so.6+0x1234", or the address.
  std::string words_of(uint64_t address) const;
  // Whether an address of the C library is in the function of this name.
  bool is_in(uint64_t address, const char* function) const;
  // Where this agent is mapped; null if it is not.
  const LoadedObject* agent() const { return find(agent_); }
  const LoadedObject* object_at(uint64_t address) const;
  // The first object that defines this; null if none does.
  const LoadedObject* object_with(const char* symbol) const;

 private:
  static constexpr size_t none = ~size_t{0};
  const LoadedObject* find(size_t index) const {
    return index == none ? nullptr : &objects_[index];
  }
  void refuse_unfit() const;
  void find_functions();
  [[noreturn]] void refuse(const std::string& why, ExitCode code = ExitCode::failure) const;

  pid_t pid_;
  RemoteMemory memory_;
  std::vector<LoadedObject> objects_;
  std::vector<Place> places_;                   // of objects_
  uint64_t kernel_start_ = 0, kernel_end_ = 0;  // [vdso]
  size_t library_c_ = none, loader_ = none, agent_ = none;
  LibraryFunctions functions_;
};

// "memflame-agent-HASH": the name of the memory file that an attached agent is loaded from. The
// hash is that of the image.
std::string attached_name();

}  // namespace memflame::inside
