// SPDX-License-Identifier: BSD-2-Clause
// Names for the paths by which the objects of a V8 heap snapshot are held, and a stack for each
// path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collapse/inputs/v8/v8_graph.h"
#include "core/hash.h"
#include "core/profile.h"

namespace memflame {

class V8Retainers {
 public:
  V8Retainers(Profile& profile, const V8Graph& graph, const std::vector<std::string>& types)
      : profile_(profile), graph_(graph), types_(types) {}

  // Before the strings are read: which of them are names that will be shown.
  void want_names();
  void take_name(uint32_t string, std::string_view text);

  // Adds each object's size and a 1 to its path.
  void add_all();

  uint64_t missing_names() const { return missing_names_; }

 private:
  bool is_named(V8Graph::Index object) const;
  FrameId frame_of(V8Graph::Index object);
  std::string reference_label(const V8Graph::Edge& edge);
  std::string object_label(V8Graph::Index object);
  StackId push(StackId holder, FrameId frame) const;
  std::string_view text(uint32_t string);
  void want(uint32_t string) { names_.try_emplace(string); }

  Profile& profile_;
  const V8Graph& graph_;
  const std::vector<std::string>& types_;
  std::vector<bool> named_types_;
  struct Name {
    StringId text;  // none for ""
    bool read = false;
  };
  std::unordered_map<int64_t, Name, NumberHash> names_;  // by a string's number
  std::unordered_map<int64_t, StringId, NumberHash> object_labels_, reference_labels_;
  std::unordered_map<int64_t, FrameId, NumberHash> frames_;  // by both labels
  V8Graph::Index holder_ = V8Graph::none;                    // of the object before
  bool dictionary_ = false;                                  // that holder
  uint64_t missing_names_ = 0;
};

}  // namespace memflame
