// SPDX-License-Identifier: BSD-2-Clause
// Scripts that complete memflame's command line in shells.
#pragma once

#include <ostream>
#include <string_view>
#include <vector>

#include "cli/command_page.h"

namespace memflame {

inline constexpr std::string_view shells = "bash, zsh, fish";

// `pages` are those of all commands; that of memflame itself has no name. Throws Error (usage) when
// the shell is not one of `shells`.
void write_completion(std::ostream& out, std::string_view shell,
                      const std::vector<CommandPage>& pages);

// One for each shell.
void write_bash_completion(std::ostream& out, const std::vector<CommandPage>& pages);
void write_zsh_completion(std::ostream& out, const std::vector<CommandPage>& pages);
void write_fish_completion(std::ostream& out, const std::vector<CommandPage>& pages);

// The options of a page, in its order.
std::vector<OptionFacts> options_of(const CommandPage& page);
// In single quotes, for a shell.
std::string shell_quoted(std::string_view text);
std::string joined(const std::vector<std::string>& words, std::string_view between);

}  // namespace memflame
