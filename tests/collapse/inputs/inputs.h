// SPDX-License-Identifier: BSD-2-Clause
// Reads other tools' stacks for the tests of collapse/inputs/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "collapse/input.h"

namespace memflame {

using Stacks = std::map<std::string, int64_t>;

// Reads a text as the format of that name, or recognises the format.
Profile read_text(const std::string& text, std::string_view from = {},
                  const ReadOptions& options = {});

// Reads a file of tests/data/inputs/.
Profile read_data(const std::string& name, std::string_view from = {},
                  const ReadOptions& options = {});

// The public samples are not part of the project. Without them the case is skipped and ends.
std::optional<std::filesystem::path> corpus(const std::string& folder);

std::string file_text(const std::filesystem::path& path);

// What the reader says of a text that it refuses; "" when it does not.
std::string error_of(const std::string& text, std::string_view from = {},
                     const ReadOptions& options = {});

// "a;b;c" -> value, for one column (the shown one when none is named); without zeros. Names are as
// in the profile, with the marks of folded text ("f_[k]") when `marks`.
Stacks stacks(const Profile& profile, std::string_view column = {}, bool marks = false);

size_t column(const Profile& profile, std::string_view name);

// The name of the format that a text is taken for; "" for none.
std::string recognised(const std::string& text);

}  // namespace memflame
