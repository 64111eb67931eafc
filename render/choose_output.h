// SPDX-License-Identifier: BSD-2-Clause
// Chooses a row of a table of formats.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace memflame {

// The row called `format` if that is not empty; else the one with the longest suffix of `path`;
// `standard` for a path without suffix. Throws Error (usage) that lists the rows.
template <class Row>
const Row& chosen_output(std::span<const Row> table, std::string_view format, std::string_view path,
                         const Row& standard) {
  const auto list = [&](std::string_view Row::*column) {
    std::string text;
    for (const Row& row : table) text += (text.empty() ? "" : ", ") + std::string(row.*column);
    return text;
  };
  for (const Row& row : table)
    if (row.name == format) return row;
  if (!format.empty())
    throw Error("--format " + std::string(format) + ": there are " + list(&Row::name),
                ExitCode::usage);
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const size_t dot = file.rfind('.');
  // "x" and ".x" have no suffix.
  if (dot == std::string_view::npos || dot == 0) return standard;
  const Row* longest = nullptr;
  for (const Row& row : table)
    if (file.size() > row.suffix.size() && file.ends_with(row.suffix) &&
        (longest == nullptr || longest->suffix.size() < row.suffix.size()))
      longest = &row;
  if (longest != nullptr) return *longest;
  throw Error("-o " + std::string(path) + ": no format is written to '" +
                  std::string(file.substr(dot)) + "' files (there are " + list(&Row::suffix) +
                  "); name one with --format " + list(&Row::name),
              ExitCode::usage);
}

}  // namespace memflame
