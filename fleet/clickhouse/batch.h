// SPDX-License-Identifier: BSD-2-Clause
// Windows as rows of the store's tables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/profile.h"
#include "fleet/clickhouse/row_binary.h"
#include "fleet/window.h"

namespace memflame {

inline constexpr int64_t slot_seconds = 600;  // of samples.slot
inline constexpr int64_t ns_a_second = 1'000'000'000, seconds_a_day = 86400;

// Insert in the order stacks, samples, windows: what is in `windows` is complete.
extern const char* const samples_columns;
extern const char* const windows_columns;
extern const char* const stacks_columns;

// Windows of one service that have the same labels, host and version among them.
uint64_t series_of(const WindowHead& head);

class WindowRows {
 public:
  // The profile has its code's places (ReadOptions::code). `load` is new for each window and each
  // time it is sent.
  void add(const WindowHead& head, const Profile& profile, uint64_t load);

  const std::string& samples() const { return samples_.bytes(); }
  const std::string& windows() const { return windows_.bytes(); }
  // Rows of `stacks`, by hash.
  const std::map<uint64_t, std::string>& stacks() const { return stacks_; }

 private:
  // The columns of one window.
  struct Columns {
    std::vector<std::string> names, units;
    std::vector<int64_t> totals;
    std::vector<uint64_t> rows;
  };

  void add_samples(const WindowHead& head, const Profile& profile, uint64_t load, Columns& columns);
  void add_window(const WindowHead& head, uint64_t load, const Columns& columns);

  RowWriter samples_, windows_;
  std::map<uint64_t, std::string> stacks_;
};

}  // namespace memflame
