// SPDX-License-Identifier: BSD-2-Clause
// The heap profile of a Go program at the moment when it is killed, by the kernel's out-of-memory
// killer or by anybody else: a BPF program copies it (go_kill.bpf.c). Until then nothing happens in
// the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/losses.h"
#include "probes/heaps/go/go_process.h"

struct bpf_object;
struct bpf_link;
struct ring_buffer;

namespace memflame {

struct GoKilled {
  GoHeap heap;
  bool out_of_memory = false;
  bool is_cut = false;    // the list could not be followed to its end
  bool is_mixed = false;  // the collector published figures meanwhile
  uint64_t lost = 0;      // buckets that could not be copied

  // "killed by the kernel's out-of-memory killer; …"
  std::string in_words(const std::string& process) const;
  Losses losses() const;
};

class GoKillWatch {
 public:
  // Reads the profile once. `process` must outlive this. Throws Error, also without the rights for
  // BPF.
  explicit GoKillWatch(const GoProcess& process);
  ~GoKillWatch();
  GoKillWatch(const GoKillWatch&) = delete;
  GoKillWatch& operator=(const GoKillWatch&) = delete;

  // Takes what has been copied; waits for at most that long.
  void poll(int milliseconds);
  // Once the process has ended; none if it was not killed.
  std::optional<GoKilled> result();

 private:
  struct Close {
    void operator()(bpf_object* object) const;
    void operator()(bpf_link* link) const;
    void operator()(ring_buffer* ring) const;
  };
  static int take(void* self, void* data, size_t size);
  void attach(const GoHeap& now);

  const GoProcess& process_;
  uint64_t rate_ = 0;
  bool no_memory_ = false;
  size_t bytes_ = 0;      // in buckets_
  uint64_t refused_ = 0;  // buckets, once there are too many bytes
  std::vector<std::vector<std::byte>> buckets_;
  std::unique_ptr<bpf_object, Close> object_;
  std::unique_ptr<ring_buffer, Close> ring_;
  std::unique_ptr<bpf_link, Close> link_;
};

}  // namespace memflame
