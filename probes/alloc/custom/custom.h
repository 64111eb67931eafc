// SPDX-License-Identifier: BSD-2-Clause
// Allocation functions that the user declares, as `--alloc`, `--free` and `--preset` take them:
//
//   --alloc '[FILE:]FUNCTION(size=arg0,ptr=ret)'      --free '[FILE:]FUNCTION(ptr=arg0)'
//
// docs/custom-allocators.md has the grammar. This file is about the text; custom_sites.h finds the
// functions in files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/alloc/bpf/call_shape.h"

namespace memflame {

struct CustomFunction {
  std::string option;              // "--alloc", "--free" or "--preset NAME", for messages
  std::string text;                // as written
  std::string file;                // a path, a base name or a glob; empty = the one that has it
  std::string function;            // a symbol or a glob; empty = the code at `offset`
  std::optional<uint64_t> offset;  // in the file
  bpf::call_shape shape{};
  bool later = false;  // its file need not be there at the start
};

// Throws Error (usage): the declaration, the column, and what is expected there.
CustomFunction parse_alloc(std::string_view text);
CustomFunction parse_free(std::string_view text);

// A named list of declarations. Functions that no file has are left out, as versions differ, but
// not all of them may be missing.
struct Preset {
  std::string name;
  std::string description;
  std::string instead;  // what to do if the compiler inlined its functions; may be empty
  std::vector<CustomFunction> functions;
};

// One of the built-in presets by its name, or a file (a text with '/' or one that ends in ".json").
// With ",later" appended, none of its functions has to exist at the start.
Preset read_preset(std::string_view name_or_path);

// From the text of a preset file; `origin` is its name in messages.
Preset parse_preset(std::string_view json, const std::string& origin);

std::vector<std::string> preset_names();

// All declarations. Throws Error (usage) also if there are pools but no function that frees them,
// or the reverse.
struct CustomFunctions {
  std::vector<CustomFunction> functions;  // of --alloc and --free, where each must be found
  std::vector<Preset> presets;

  bool empty() const { return functions.empty() && presets.empty(); }
};
CustomFunctions read_custom(const std::vector<std::string>& allocs,
                            const std::vector<std::string>& frees,
                            const std::vector<std::string>& presets);

// Whether a name matches a glob with '*' and '?'.
bool is_glob(std::string_view pattern);
bool glob_matches(std::string_view pattern, std::string_view name);

}  // namespace memflame
