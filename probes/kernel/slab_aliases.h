// SPDX-License-Identifier: BSD-2-Clause
// Slab caches that the kernel has merged because their objects are alike.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memflame {

class SlabAliases {
 public:
  // `folder`: /sys/kernel/slab, where each name of a merged cache is a link to the cache's folder.
  explicit SlabAliases(std::string folder);

  // "dentry", or "dentry (merged: a, b)" with the other names of that cache. `size`: bytes that one
  // of its objects takes; if the folder has another size, it belongs to another cache, and is
  // ignored.
  std::string label(const std::string& cache, uint32_t size) const;

 private:
  std::string folder_;
  std::map<std::string, std::string> target_of_;              // name -> folder
  std::map<std::string, std::vector<std::string>> names_of_;  // folder -> names, sorted
};

}  // namespace memflame
