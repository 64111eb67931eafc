// SPDX-License-Identifier: BSD-2-Clause
// How a report divides the time of a run. Times are nanoseconds since counting began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace memflame {

class ReportBins {
 public:
  // At most `most` bins (2 or more) from 0 to `end_ns`, which is later. Edges are at even
  // distances, in whole microseconds, and at the times of `exact`. If more of those are within the
  // run than half of the bins, only the first ones are edges.
  //
  // Steps::lasting: the distance is a power of two of a second, and edges are multiples of it; so
  // the edges of a longer run are some of these, and later ones.
  enum class Steps : uint8_t { finest, lasting };
  static ReportBins even(uint64_t end_ns, size_t most, std::span<const uint64_t> exact,
                         Steps steps = Steps::finest);
  // Each edge but the first is one of `times`, which ascend from above 0. The last of them is an
  // edge, and so are those of `exact`, with the same limit.
  static ReportBins among(std::span<const uint64_t> times, size_t most,
                          std::span<const uint64_t> exact, Steps steps = Steps::finest);

  const std::vector<uint64_t>& edges() const { return edges_; }
  size_t size() const { return edges_.size() - 1; }
  // A bin contains its end, but not its beginning; the first one contains 0, too. `time_ns` is not
  // behind the end.
  uint32_t bin_of(uint64_t time_ns) const;

  // Edges by place.
  bool has(uint64_t time_ns) const;
  uint32_t nearest(uint64_t time_ns) const;
  uint32_t last_until(uint64_t time_ns) const;  // the last edge that is not later
  uint32_t first_from(uint64_t time_ns) const;  // the first one that is not earlier, or the end

  // Leaves out every second edge of those that need not be exact. Returns the new bin of each bin
  // that there was; nothing if no edge can be left out.
  std::vector<uint32_t> halve();

 private:
  ReportBins(std::vector<uint64_t> times, std::span<const uint64_t> exact, uint64_t end_ns);
  // The interior ones of `exact`, each once, in order; at most half of `most`.
  static std::vector<uint64_t> chosen(std::span<const uint64_t> exact, uint64_t end_ns,
                                      size_t most);

  std::vector<uint64_t> edges_;
  std::vector<bool> is_exact_;  // by edge
};

}  // namespace memflame
