// SPDX-License-Identifier: BSD-2-Clause
// Stacks, methods and classes of a chunk as frames of a profile.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "collapse/inputs/java/jfr_chunk.h"
#include "collapse/inputs/readers.h"
#include "collapse/text/issues.h"
#include "core/hash.h"

namespace memflame {

class JfrNames {
 public:
  JfrNames(Profile& profile, Issues& issues, const ReadOptions& options, const JfrTypes& types,
           const JfrPools& pools);

  // The stack with the class of the object as its innermost frame. Keys are those of the pools, 0
  // is none.
  StackId stack(int64_t thread, int64_t stack, int64_t object_class);

  // The class of an old object.
  int64_t class_of_old(int64_t object);

 private:
  // A class and its module; both are none if it is not in the recording.
  struct Class {
    StringId name, module;
  };

  StackId push_stack(StackId root, int64_t key);
  StackId push_thread(int64_t key);
  FrameId method(int64_t key, int64_t line);
  const Class& class_of(int64_t key);
  FrameId class_frame(int64_t key);
  StringId module_of_package(int64_t key);
  StringId module_name(int64_t key);

  Profile& profile_;
  Issues& issues_;
  const ReadOptions& options_;
  const JfrTypes& types_;
  const JfrPools& pools_;
  const int64_t stack_type_, method_type_, class_type_, package_type_, module_type_, thread_type_,
      old_type_;
  template <class Value>
  using ByNumber = std::unordered_map<int64_t, Value, NumberHash>;
  ByNumber<ByNumber<StackId>> stacks_;   // by the root's StackId and the key
  ByNumber<ByNumber<FrameId>> methods_;  // by key and line
  ByNumber<Class> classes_;
  ByNumber<StringId> packages_, modules_;
  ByNumber<int64_t> old_objects_;
  ByNumber<StackId> threads_;
};

}  // namespace memflame
