// SPDX-License-Identifier: BSD-2-Clause
// Reads the allocation functions that the user declares with --alloc, --free and --preset:
//
//   --alloc '[FILE:]FUNCTION(size=arg0,ptr=ret)'      --free '[FILE:]FUNCTION(ptr=arg0)'
//
// docs/custom-allocators.md has the grammar. This file parses the text; custom_sites.h finds the
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
  std::string file;                // a path, base name or glob; empty = the only file that has it
  std::string function;            // a symbol or a glob; empty = the code at `offset`
  std::optional<uint64_t> offset;  // in the file
  bpf::call_shape shape{};
  bool later = false;  // its file may be loaded later
};

// Both throw Error (usage) with the declaration, the column and what is expected there.
CustomFunction parse_alloc(std::string_view text);
CustomFunction parse_free(std::string_view text);

// A named list of declarations. Versions of a library differ, so functions that no file has are
// ignored, but at least one that allocates must be there.
struct Preset {
  std::string name;
  std::string description;
  std::string instead;  // what to do if the compiler inlined its functions; may be empty
  std::vector<CustomFunction> functions;
};

// Reads a built-in preset by its name, or a file if the text contains '/' or ends in ".json". With
// ",later" appended, none of its functions has to exist at the start.
Preset read_preset(std::string_view name_or_path);

// Parses the text of a preset file. Messages call it `origin`.
Preset parse_preset(std::string_view json, const std::string& origin);

std::vector<std::string> preset_names();

struct CustomFunctions {
  std::vector<CustomFunction> functions;  // of --alloc and --free; each of them must be found
  std::vector<Preset> presets;

  bool empty() const { return functions.empty() && presets.empty(); }
};
// Reads all declarations. Throws Error (usage) also if a function allocates from pools and none
// frees them, or the reverse.
CustomFunctions read_custom(const std::vector<std::string>& allocs,
                            const std::vector<std::string>& frees,
                            const std::vector<std::string>& presets);

// Globs know '*' and '?'.
bool is_glob(std::string_view pattern);
bool glob_matches(std::string_view pattern, std::string_view name);

}  // namespace memflame
