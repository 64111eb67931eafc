// SPDX-License-Identifier: BSD-2-Clause
// Profiles of a few stacks.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/profile.h"

namespace memflame {

inline Profile bytes(bool in_order = false) {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  if (in_order) p.keep_order();
  return p;
}

inline void add(Profile& p, std::initializer_list<std::string_view> path,
                const std::vector<int64_t>& values) {
  StackId stack;
  for (const std::string_view frame : path) stack = p.push(stack, frame);
  p.add(stack, values);
}

inline void add(Profile& p, std::initializer_list<std::string_view> path, int64_t value) {
  add(p, path, std::vector<int64_t>{value});
}

}  // namespace memflame
