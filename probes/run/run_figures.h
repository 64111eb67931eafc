// SPDX-License-Identifier: BSD-2-Clause
// The figures of a run that goes on, wherever they are kept: what looks and snapshots are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "core/recording.h"
#include "probes/bpf/shared.h"
#include "probes/reach/scan.h"
#include "probes/waste/first_touch.h"

namespace memflame {

class Processes;
class Rows;
class StackLog;

// By space.
using Scans = std::map<SpaceId, ProcessScan>;

class RunFigures {
 public:
  RunFigures() = default;
  RunFigures(const RunFigures&) = delete;
  RunFigures& operator=(const RunFigures&) = delete;
  virtual ~RunFigures() = default;

  virtual const StackLog& stacks() const = 0;
  virtual const Processes& processes() const = 0;
  // Whether keys of blocks name an address space, not a kind of kernel memory.
  virtual bool has_spaces() const { return true; }

  // Takes what has been recorded up to now.
  virtual void catch_up() = 0;
  // The figures of all stacks, of the probe with this number in the run.
  virtual void add_figures(size_t probe, std::span<const ValueType> types, Rows& rows) = 0;
  // What follows is of the first probe, which follows blocks.
  using VisitBlock = std::function<void(const bpf::block_key&, const bpf::block&)>;
  virtual void for_each_block(const VisitBlock& visit) = 0;
  // The figures of stacks, in the order of bpf::sum; a stack may come more than once.
  using VisitSum = std::function<void(uint64_t key, const int64_t* sum)>;
  virtual void for_each_sum(const VisitSum& visit) = 0;
  // See Accounting::place().
  virtual bool place(uint64_t /*key*/, RawStack&, std::string& /*group*/) { return true; }
  virtual bool is_sampled() const { return false; }
  virtual std::string sampling_in_words() const { return ""; }
  virtual uint64_t unseen_frees() const = 0;
  // The faults that have made pages of these spaces, by page. None: they were not followed.
  virtual std::optional<std::map<SpaceId, PageFaults>> page_faults(std::span<const SpaceId>) {
    return std::nullopt;
  }
  // The scans of processes at the end of the run; null: nothing was scanned.
  virtual const Scans* scans() const { return nullptr; }
};

}  // namespace memflame
