// SPDX-License-Identifier: BSD-2-Clause
// The maps of a bpftrace script: entries of keys and stacks become a profile with one column per
// map.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/inputs/text_frame.h"
#include "core/hash_index.h"

namespace memflame {

// One number of an entry: a map of tuples or of statistics has several.
struct MapValue {
  std::string part;  // "" or ".count", ".1": appended to the name of the map
  int64_t value = 0;
  bool counted = false;  // counts calls, whatever the map holds
};

class BpftraceMaps {
 public:
  explicit BpftraceMaps(const ReadOptions& options) : options_(options) {}

  // Entries arrive piece by piece in the order of their keys; add() or drop() ends them.
  void begin(std::string_view map);  // its name without '@'
  void key(std::string_view text);   // a number or a string; "" for a stack without frames
  void keys(std::string_view texts, std::string_view separator);
  void begin_stack();                 // a key that is a stack
  void frame(std::string_view line);  // leaf first
  void add(std::span<const MapValue> values);
  void drop() { open_ = false; }
  bool open() const { return open_; }

  // A map without keys.
  void scalar(std::string_view map, std::string_view value);

  // A number as bpftrace prints it: older versions print negative sums without their sign.
  std::optional<int64_t> number(std::string_view text);

  // The profile; nothing is touched if there was no entry.
  Profile finish();

 private:
  struct Sheet {
    Profile profile;
    std::map<std::string, size_t, std::less<>> columns;
  };
  struct Stack {
    size_t begin = 0, size = 0;  // in frames_
    size_t position = 0;         // among the keys
    bool kernel = false;
  };

  TextFrame parse(std::string_view line) const;
  size_t column(Sheet& sheet, const MapValue& value);
  void order_stacks();
  FrameId as_kernel(FrameId frame);
  StackId push(Sheet& sheet);
  void move_keyed_entries();

  const ReadOptions& options_;
  Sheet stacks_, keyed_;  // entries with stacks, and entries with other keys only
  FrameLines lines_;
  std::map<std::string, size_t, std::less<>> kernel_at_;  // map -> position of its kernel stacks
  std::vector<std::string> scalars_;
  HashIndex seen_;
  std::vector<uint64_t> hashes_;
  uint64_t again_ = 0, unsigned_ = 0;

  // The entry being read.
  bool open_ = false;
  std::string map_;
  std::vector<std::string> keys_;
  size_t position_ = 0;
  bool empty_stack_ = false;
  uint64_t hash_ = 0;
  std::vector<FrameId> frames_;
  std::vector<Stack> entry_stacks_;
};

}  // namespace memflame
