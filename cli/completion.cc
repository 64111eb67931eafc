// SPDX-License-Identifier: BSD-2-Clause
#include "cli/completion.h"

#include "core/error.h"

namespace memflame {

std::vector<OptionFacts> options_of(const CommandPage& page) {
  std::vector<OptionFacts> all;
  for (const auto& group : page.options)
    for (const auto& option : group.options()) all.push_back(facts_of(*option));
  return all;
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : between).append(word);
  return out;
}

void write_completion(std::ostream& out, std::string_view shell,
                      const std::vector<CommandPage>& pages) {
  if (shell == "bash") return write_bash_completion(out, pages);
  if (shell == "zsh") return write_zsh_completion(out, pages);
  if (shell == "fish") return write_fish_completion(out, pages);
  throw Error("completion: there is one for " + std::string(shells) + ", not for '" +
                  std::string(shell) + "'",
              ExitCode::usage);
}

}  // namespace memflame
