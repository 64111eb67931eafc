// SPDX-License-Identifier: BSD-2-Clause
#include "probes/kernel/slab_aliases.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "probes/kernel/leaf_name.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_names = 8;  // of a label

bool says(const std::string& file, uint32_t wanted) {
  const std::string text = read_file(file);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end != text.data() && number == wanted;
}

}  // namespace

SlabAliases::SlabAliases(std::string folder) : folder_(std::move(folder)) {
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code no_link;
    const fs::path target = fs::read_symlink(at->path(), no_link);
    if (no_link) continue;
    const std::string name = clean_cache_name(at->path().filename().string());
    target_of_[name] = target.filename().string();
    names_of_[target.filename().string()].push_back(name);
  }
  for (auto& [target, names] : names_of_) std::sort(names.begin(), names.end());
}

std::string SlabAliases::label(const std::string& cache, uint32_t size) const {
  const auto target = target_of_.find(cache);
  if (target == target_of_.end()) return cache;
  const std::vector<std::string>& names = names_of_.at(target->second);
  if (names.size() < 2 || !says(folder_ + "/" + target->second + "/slab_size", size)) return cache;
  std::string others;
  size_t listed = 0;
  for (const std::string& name : names) {
    if (name == cache) continue;
    if (++listed > most_names) continue;
    others += (others.empty() ? "" : ", ") + name;
  }
  if (listed > most_names) others += " and " + std::to_string(listed - most_names) + " more";
  return cache + " (merged: " + others + ")";
}

}  // namespace memflame
