// SPDX-License-Identifier: BSD-2-Clause
// The options of a picture's look as rows. Parsing, --help, completion and the warnings about
// options that mean nothing for a format are made from them. The defaults are those of
// RenderOptions; what the viewer gets is in render/picture/looks.cc.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cli/completed.h"
#include "render/picture/options.h"

namespace memflame {

struct DrawingRow {
  enum class Takes : uint8_t { nothing, text, number };
  // The formats that the option changes. `boxes`: of pictures, and of text in cells; `links`: of
  // pictures with links and tooltips.
  enum class Of : uint8_t { boxes, pictures, links, svg, every_format };
  using Set = void (*)(const boost::program_options::variable_value& given, RenderOptions& render);

  const char* name;
  Takes takes;
  const char* value_name;
  std::string help;
  Set set;  // nullptr: no field of RenderOptions
  Of of = Of::pictures;
  Completion completion{};
};

// In the order of --help.
std::span<const DrawingRow> drawing_rows();

// Some commands have a --sort of their own.
inline bool is_sort(const DrawingRow& row) { return std::string_view(row.name) == "sort"; }

}  // namespace memflame
