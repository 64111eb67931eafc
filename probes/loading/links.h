// SPDX-License-Identifier: BSD-2-Clause
// Attaches programs. A Links value owns the attachments; they disappear with it, and the kernel
// removes them if memflame dies.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/unique_fd.h"

struct bpf_program;

namespace memflame {

struct UprobeSite {
  uint64_t offset = 0;  // in the file
  uint64_t cookie = 0;
  uint64_t counter = 0;  // of a USDT probe: file offset; the kernel keeps it above 0. 0 = none
};

enum class UprobeKind : uint8_t { entry, returns, multi_entry, multi_returns, session };

// On a raw tracepoint a kernel stack begins with our program and the function that runs it.
inline constexpr uint32_t raw_tracepoint_frames = 2;

class Links {
 public:
  Links() = default;
  ~Links() { detach(); }
  Links(Links&&) = default;
  Links& operator=(Links&&) = default;
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  void raw_tracepoint(const bpf_program* program, const char* name);

  // A classic tracepoint through a perf event: it costs only callers of this system call, while a
  // raw one costs every system call on the machine. False if tracefs is out of reach.
  bool tracepoint(const bpf_program* program, const char* category, const char* name);

  // Probes on functions of one file. `path` may be a /proc/self/fd path. The program must be loaded
  // for this `kind`. Throws Error.
  void uprobes(const bpf_program* program, const std::string& path,
               const std::vector<UprobeSite>& sites, UprobeKind kind, pid_t pid);
  // The same for a program given by its descriptor.
  void uprobes(int program, const std::string& path, const std::vector<UprobeSite>& sites,
               UprobeKind kind, pid_t pid);

  // Takes over the attachments of another one.
  void adopt(Links& other);

  // Detaches all. One perf-event probe takes the kernel about 0.1 s, so they are detached in
  // parallel.
  void detach();

 private:
  void perf_uprobe(int program, const std::string& path, const UprobeSite& site, bool is_return,
                   pid_t pid);

  std::vector<UniqueFd> fds_;
};

}  // namespace memflame
