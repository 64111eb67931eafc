// Profiles of a few stacks in bytes.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>

#include "core/profile.h"

namespace memflame {

inline Profile bytes(bool in_order = false) {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  if (in_order) p.keep_order();
  return p;
}

inline void add(Profile& p, std::initializer_list<std::string_view> path, int64_t value) {
  StackId stack;
  for (const std::string_view frame : path) stack = p.push(stack, frame);
  p.add(stack, std::array{value});
}

}  // namespace memflame
