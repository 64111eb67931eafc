// SPDX-License-Identifier: BSD-2-Clause
// BPF objects as bytes of the program: packed (pack.cmake), as they have four times the size
// otherwise.
#pragma once

#include <cstddef>
#include <span>

struct bpf_object;

namespace memflame {

// As bpf_object__open_mem() with the unpacked bytes: null and errno if it cannot be opened.
// `types`: a file with BTF of the kernel, which libbpf reads when it loads the object; null: the
// kernel's own.
bpf_object* open_packed(std::span<const std::byte> packed, const char* types = nullptr);

}  // namespace memflame
