// SPDX-License-Identifier: BSD-2-Clause
// For readers whose stacks are addresses: names come from the files that were mapped, if these are
// on this machine and unchanged.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "collapse/inputs/maps_text.h"
#include "collapse/inputs/readers.h"
#include "collapse/symbolize/places.h"
#include "collapse/text/issues.h"
#include "core/recording.h"

namespace memflame {

// Names addresses and folds, as the options say. A frame of unknown name reads
// "[libfoo.so+0x1234]", and a note names the file.
Profile named(Recording recording, const ReadOptions& options);

// The same for the given places. Kernel addresses get names only if `same_kernel`: they are
// addresses of this boot.
Profile named(Recording recording, Places places, const ReadOptions& options, bool same_kernel);

// Sets `addresses` to those of a line: " 0x40152 0x7f00…", also without "0x". False if there is
// anything else; `addresses` then has those before it.
bool take_addresses(std::string_view text, std::vector<uint64_t>& addresses);

// Stacks of one process at one time, with its mappings.
class AddressStacks {
 public:
  // A file that changed after the source was written is not the one that the process had mapped.
  explicit AddressStacks(const Source& source);

  // Columns; set before the first add().
  std::vector<ValueType> types;

  // Takes one line of the list of mappings.
  void map(std::string_view line, size_t number, Issues& issues);

  // `addresses`: leaf first, all of them return addresses, as glibc's backtrace() and libunwind
  // give them. `root` is a frame for the whole stack, or "".
  void add(std::string_view root, std::span<const uint64_t> addresses,
           std::span<const int64_t> values);

  bool empty() const { return recording_.sums.empty(); }

  // Returns the stacks with names. The object cannot be used afterwards.
  Profile take(const ReadOptions& options, Issues& issues);

 private:
  ModuleId module(const MapsRow& row);
  void drop_overlaps(Issues& issues);

  Recording recording_;
  MapsText text_;
  std::map<std::pair<std::string, uint64_t>, ModuleId> modules_;
  int64_t unchanged_since_ns_;
  bool mapped_ = false;
};

}  // namespace memflame
