// SPDX-License-Identifier: BSD-2-Clause
// The stretches of birth times that a ledger keeps figures for. They are those of the latest
// survey, or unions of neighbours if the survey has more than `most`: the pair that is shortest for
// its age is joined first, so young stretches stay narrow. Cost: O(stretches) per survey, and
// quadratic in those above `most`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace memflame {

class Stretches {
 public:
  static constexpr size_t most = 64;

  // Takes the stretches of a survey at `time_ns`. place_of() then tells the place of each of
  // them. Throws Error if they are not in the order of time.
  void survey(std::span<const uint64_t> begins, uint64_t time_ns);

  uint32_t place_at(uint64_t time_ns) const;  // of the stretch that a time is in
  uint32_t place_of(size_t surveyed) const { return places_[surveyed]; }
  size_t surveyed() const { return places_.size(); }

  std::span<const uint64_t> begins() const { return begins_; }
  uint64_t end_ns() const { return end_ns_; }  // of the last stretch: the time of the survey
  uint32_t last() const { return static_cast<uint32_t>(begins_.size() - 1); }

 private:
  void join_until_few();

  std::vector<uint64_t> begins_;
  std::vector<uint32_t> places_;
  uint64_t end_ns_ = 0;
};

}  // namespace memflame
