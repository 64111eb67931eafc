// SPDX-License-Identifier: BSD-2-Clause
// What a stack of the kernel's memory ends in, in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memflame {

// A slab cache's name as the kernel holds it: bytes that are not plain text become '?', the end is
// where the kernel's string ends.
std::string clean_cache_name(std::string_view bytes);

// "[slab dentry]", "[kmalloc-64]", "[kmalloc order 2]", "[pages order 3]", …; `leaf` is a
// bpf::kernel_leaf, `cache` the name of its cache if it is one, or "".
std::string leaf_name(uint16_t leaf, std::string_view cache);

}  // namespace memflame
