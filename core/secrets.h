// SPDX-License-Identifier: BSD-2-Clause
// Command lines go into pictures, and pictures are passed on: whatever looks like a secret is
// hidden.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memflame {

// Replaces the values of options, variables and URLs by "***" if their name says that they are
// secret: "--password=x", "--token x", "AWS_SECRET_ACCESS_KEY=x", "mysql -px",
// "https://user:x@host/?key=x", "Authorization: Bearer x", also within a word ("sh -c '…'"). A
// secret that nothing announces is not found.
std::vector<std::string> without_secrets(std::vector<std::string> words);

// The same for words with blanks between them.
std::string without_secrets(std::string_view text);

}  // namespace memflame
