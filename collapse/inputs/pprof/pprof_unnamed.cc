// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/pprof/pprof_unnamed.h"

#include <algorithm>

#include "collapse/inputs/scan.h"
#include "core/pprof.h"

namespace memflame::pprof {

bool UnnamedCode::take(std::string_view comment) {
  comment.remove_prefix(unnamed_comment.size());
  const size_t end = comment.find(' ');
  if (end == 0 || end > longest_id) return false;
  Functions& functions = by_build_id_[std::string(comment.substr(0, end))];
  // Addresses before a damage count; look-ups need them sorted.
  const bool good = take_addresses(comment.substr(end), functions);
  std::sort(functions.starts.begin(), functions.starts.end());
  return good;
}

bool UnnamedCode::take_addresses(std::string_view text, Functions& functions) {
  Scan scan{text};
  for (scan.blanks(); !scan.rest.empty(); scan.blanks()) {
    uint64_t address = 0, start = 0;
    if (!scan.hex(address)) return false;
    if (!scan.literal("="))
      functions.starts.push_back(address);
    else if (scan.hex(start))
      functions.start_of.emplace(address, start);
    else
      return false;
  }
  return true;
}

std::optional<uint64_t> UnnamedCode::start_of(std::string_view build_id, uint64_t address) const {
  if (by_build_id_.empty() || build_id.size() > longest_id) return std::nullopt;
  const auto functions = by_build_id_.find(build_id);
  if (functions == by_build_id_.end()) return std::nullopt;
  const auto& [starts, start_of] = functions->second;
  if (const auto known = start_of.find(address); known != start_of.end()) return known->second;
  const auto after = std::upper_bound(starts.begin(), starts.end(), address);
  if (after == starts.begin()) return std::nullopt;
  return *std::prev(after);
}

}  // namespace memflame::pprof
