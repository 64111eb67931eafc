// SPDX-License-Identifier: BSD-2-Clause
// The tables of a heaptrack file: strings, instruction pointers, and traces made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "collapse/inputs/hex_fields.h"
#include "collapse/inputs/readers.h"
#include "collapse/text/issues.h"
#include "collapse/verdicts/leak_patterns.h"
#include "core/profile.h"

namespace memflame {

// A record that is not understood is added to the issues and keeps its number: later records refer
// to the ones after it. All three arguments must outlive this.
class HeaptrackTraces {
 public:
  HeaptrackTraces(Profile& profile, Issues& issues, const ReadOptions& options);

  // The records s, i, t without their letter.
  void string(const HexFields& fields, uint64_t version, size_t line);
  void instruction(HexFields& fields, size_t line);
  void trace(HexFields& fields, size_t line);

  // Traces are numbered 1 … size() - 1; 0 is the trace of blocks without one.
  size_t size() const { return traces_.size(); }
  StackId stack(uint32_t trace) const { return traces_[trace].stack; }

  // heaptrack's own suppressions, and those of the file.
  LeakPatterns patterns;
  // By trace: true if a suppression matches a function, module or source file in it. Empty if no
  // suppression matches anything.
  std::vector<bool> suppressed() const;

 private:
  // Each trace that uses an instruction pointer gets all its frames, so without a limit a file's
  // size would not bound the work.
  static constexpr size_t max_inlined = 256;

  struct Place {  // a function and the place in it, as strings
    StringId function, file;
    uint32_t line = 0;
  };
  struct Instruction {
    size_t first = 0, count = 0;  // in frames_ and files_, outermost function first
  };
  struct Trace {
    StackId stack;
    uint32_t instruction = 0, caller = 0;
  };

  StringId known_string(uint64_t number) const {
    return number < strings_.size() ? strings_[number] : StringId{};
  }
  void add_frame(const Place& place, StringId module, uint64_t address, bool inlined);
  StringId nameless(StringId module, uint64_t address);
  std::vector<bool> suppressed_instructions() const;

  Profile& profile_;
  Issues& issues_;
  const ReadOptions& options_;
  std::vector<StringId> strings_ = std::vector<StringId>(1);
  std::vector<Instruction> instructions_ = std::vector<Instruction>(1);
  std::vector<FrameId> frames_;
  std::vector<StringId> files_;  // of frames_; suppressions may name them
  std::vector<Trace> traces_;
  uint64_t bytes_ = 0, unfolded_ = 0;  // the records of traces: their length, and their frames
};

}  // namespace memflame
