// SPDX-License-Identifier: BSD-2-Clause
// The options of the alloc probe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/options/options.h"

namespace memflame {

class AllocOptions : public ProbeSettings {
 public:
  uint64_t sample_bytes = 0;   // mean distance of samples in allocated bytes; 0 = no sampling
  uint32_t every = 0;          // keep one block in N; 0 = all
  double max_overhead = 0;     // percent of the target's CPU time; 0 = no limit
  bool usable_size = false;    // count usable sizes instead of requested ones
  bool check = false;          // look for wrong frees
  std::string symbols_prefix;  // also probe PREFIXmalloc, PREFIXfree, …; "" = none
  std::vector<std::string> alloc_specs, free_specs, presets;  // see custom.h
  std::string object;  // probe only files with this name or path

  std::vector<OptionRow> rows(ProbeOptions& common) override;
  void settle(ProbeOptions& common) override;
  std::vector<std::string> filters_in_words() const override;
  std::string only_in_kernel() const override;
  uint64_t sampled_bytes() const override { return sample_bytes; }
  double most_overhead() const override { return max_overhead; }
  std::string sampling_in_words() const override;
  bool wants_summary() const override { return check; }

 private:
  enum class Children : uint8_t { follow, exact, none };
  void settle_children(ProbeOptions& common);
  void settle_collector(ProbeOptions& common) const;

  std::optional<Children> children_;
  std::optional<Collect> collect_;
  bool inside_ = false;
};

}  // namespace memflame
