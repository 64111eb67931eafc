// SPDX-License-Identifier: BSD-2-Clause
// What the name of a function says about what it allocates.
#pragma once

#include <string>
#include <string_view>

namespace memflame {

struct AllocatedType {
  std::string type;  // "app::Node" of std::__new_allocator<app::Node>::allocate; "" = nothing
  // The type is a letter (char), which may belong to a string, or it is a string.
  bool is_letter = false, is_string = false;
};

// `function` is a demangled name of C++ or Rust, with or without arguments and result. Takes time
// linear in its length.
AllocatedType allocated_type(std::string_view function);

// Whether it is code of the standard library of C++ or Rust, which allocates for its callers.
bool allocates_for_callers(std::string_view function);

}  // namespace memflame
