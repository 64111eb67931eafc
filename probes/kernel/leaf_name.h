// SPDX-License-Identifier: BSD-2-Clause
// The last frame of a stack of kernel memory, which says what was allocated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memflame {

// A slab cache's name as the kernel holds it: it ends at the first zero byte, and bytes that are
// not plain text become '?'.
std::string clean_cache_name(std::string_view bytes);

// "[slab dentry]", "[kmalloc-64]", "[kmalloc order 2]", "[pages order 3]", …; `leaf` is a
// bpf::kernel_leaf, `cache` the name of its cache if it is one, or "".
std::string leaf_name(uint16_t leaf, std::string_view cache);

}  // namespace memflame
