// SPDX-License-Identifier: BSD-2-Clause
// Reads other tools' stacks: finds the format, and has its reader read it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "collapse/inputs/readers.h"

namespace memflame {

struct Input {
  std::string_view name;  // for --from
  std::string_view help;
  // Whether an input with this beginning (Source::head()) is of this format. The first of inputs()
  // that says yes reads it.
  bool (*matches)(std::string_view head);
  Profile (*read)(Source& source, const ReadOptions& options);
};

std::span<const Input> inputs();

// `from` names the format, or a family of formats (format_names.h); "" detects it. Throws Error if
// that fails, with what the input is if that is known.
const Input& input_for(const Source& source, std::string_view from);

// What an input with this beginning seems to be, to complete "it looks like …"; "" if unknown.
std::string likely_format(std::string_view head);

// Reads it, and refuses a profile that lost all its stacks or has a sum that does not fit in 64
// bits.
Profile read_as(const Input& input, Source& source, const ReadOptions& options);
Profile read_profile(Source& source, std::string_view from, const ReadOptions& options);

}  // namespace memflame
