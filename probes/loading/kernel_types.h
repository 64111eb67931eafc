// SPDX-License-Identifier: BSD-2-Clause
// The kernel's types that a BPF object names. libbpf adapts programs to the running kernel by them,
// and looks through all 150,000 that the kernel has for each name; it gets a file with a few
// hundred instead.
#pragma once

#include <future>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/unique_fd.h"

struct bpf_object;

namespace memflame {

// The name without what follows "___": an object may describe one type as several kernels have it.
std::string_view essential_name(std::string_view name);

// BTF with those types of `kernel`, which is BTF too, that have one of the essential names, and all
// that they contain. What they point to is void. Empty if `kernel` cannot be read as BTF.
std::string types_named(std::string_view kernel, const std::unordered_set<std::string_view>& names);

class KernelTypes {
 public:
  KernelTypes();
  // For bpf_object_open_opts: a file that fill() writes. Null if there is none; libbpf then reads
  // the kernel's.
  const char* path() const { return path_.empty() ? nullptr : path_.c_str(); }
  // Begins to write what the object names. It must live until ready() or wait().
  void fill(const bpf_object* object);
  // Before the object is loaded. Throws Error.
  void ready();
  void wait() const;

 private:
  UniqueFd file_;
  std::string path_;
  std::future<void> filling_;
};

}  // namespace memflame
