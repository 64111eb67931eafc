// SPDX-License-Identifier: BSD-2-Clause
// What people are told about outputs and the spool: each change once, not each try.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "fleet/figures.h"

namespace memflame {

// Lines about one output; "" = nothing is new.
class OutputNews {
 public:
  explicit OutputNews(const std::string& output) : output_(output) {}
  std::string failed(const std::string& why);
  std::string good();
  std::string refused(const std::string& why);
  std::string damaged(const std::string& why);

 private:
  std::string output_, failure_, refusal_;
  uint64_t tries_ = 0;  // that failed, since it was good
  uint64_t damaged_ = 0;
  std::chrono::steady_clock::time_point since_, said_;
};

class SpoolNews {
 public:
  std::vector<std::string> of(const FleetFigures& figures);
  std::string failed(const std::string& why);

 private:
  bool began_ = false;
  std::string failure_;
  uint64_t taken_ = 0, dropped_full_ = 0, dropped_disk_ = 0;
  bool is_full_ = false, is_unwritable_ = false;
};

}  // namespace memflame
