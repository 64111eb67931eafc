// SPDX-License-Identifier: BSD-2-Clause
// Mappings, locations and functions of a profile in pprof's format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/profile.h"

namespace memflame {

// Numbers are indices in a table, from 1 on; 0 is none.

struct PprofMapping {
  StringId module;        // of code without an address; none: memflame's own notes
  CodeMappingId code;     // set if its address is known
  bool functions = true;  // all its locations have functions: nothing is left to look up
  bool files = false, lines = false;  // some have these
};

struct PprofFunction {
  StringId name, file;
  uint32_t start_line = 0;
  FrameKind mark = FrameKind::user;
  friend bool operator==(const PprofFunction&, const PprofFunction&) = default;
};

struct PprofLine {
  uint32_t function = 0, line = 0;
};

struct PprofLocation {
  uint32_t mapping = 0;
  uint64_t address = 0;
  std::vector<PprofLine> lines;  // innermost first; none if only a symbolizer can tell
};

// A location is a frame and those that were inlined into it: a short stack of its own.
class PprofPlaces {
 public:
  explicit PprofPlaces(const Profile& profile);

  // Replaces `locations` by those of a stack, leaf first. `value` is its weight in choosing the
  // main program.
  void take(StackId stack, int64_t value, std::vector<uint64_t>& locations);

  // After the last take(): fills the tables below. The main program's mapping is the first.
  void finish();
  const std::vector<PprofMapping>& mappings() const { return mappings_; }
  const std::vector<PprofLocation>& locations() const { return made_; }
  const PprofFunction& function(uint32_t i) const { return functions_[FunctionId{i}]; }
  uint32_t functions() const { return static_cast<uint32_t>(functions_.size()); }  // ids are below
  // Names for code without lines (pprof::unnamed_comment).
  std::vector<std::string> unnamed_comments() const;

 private:
  using FunctionId = Id<struct FunctionTag>;
  struct HashFunction {
    size_t operator()(const PprofFunction& key) const {
      const uint64_t names = (uint64_t{key.name.index} << 32U) | key.file.index;
      return mix(names, (uint64_t{key.start_line} << 8U) | static_cast<uint64_t>(key.mark));
    }
  };
  // Where code without symbols begins, by its address.
  using Starts = std::map<uint64_t, uint64_t>;

  const Frame& frame_of(StackId chain) const { return profile_.frames[chains_[chain].frame]; }
  bool goes_on(FrameId callee, FrameId caller) const;
  bool may_be_main(CodeMappingId mapping) const;
  void weigh(const std::vector<FrameId>& path, int64_t value);
  uint32_t mapping_of(const Frame& frame);
  PprofLocation location_of(StackId chain);
  bool is_for_symbolizers(const Frame& frame);
  uint32_t function_of(const Frame& frame, bool is_outermost);

  const Profile& profile_;
  bool has_programs_ = false;
  std::vector<double> weight_;  // by CodeMappingId::index, as the main program
  std::vector<PprofMapping> mappings_;
  std::vector<uint32_t> by_code_;    // CodeMappingId::index -> mapping
  std::vector<uint32_t> by_module_;  // StringId::index -> mapping
  StackTable chains_;
  std::vector<uint32_t> id_of_chain_;  // by StackId::index of a chain
  std::vector<StackId> ends_;          // chains that are locations
  std::vector<PprofLocation> made_;
  Interner<PprofFunction, FunctionId, HashFunction> functions_;
  std::map<std::string, Starts> unnamed_;  // by build id
};

}  // namespace memflame
