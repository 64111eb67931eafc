// SPDX-License-Identifier: BSD-2-Clause
#include "cli/completion.h"

namespace memflame {
namespace {

// Fish's single quotes hold backslashes before quotes and backslashes.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_value(const Completion& completion, bool takes_files) {
  const std::string words = joined(completion.words, " ");
  switch (completion.offer) {
    case Offer::pids:
      return " -x -a '(__fish_append , (__memflame_pids))'";
    case Offer::comms:
      return " -x -a '(__memflame_comms)'";
    case Offer::users:
      return " -x -a '(__fish_complete_users)'";
    case Offer::runs:
      return " -x -a '(__memflame_runs)'";
    case Offer::list:
      return " -x -a '(__fish_append , " + words + ")'";
    case Offer::words_or_files:
      return " -r -F -a " + fish_quoted(words);
    case Offer::words:
      break;
  }
  if (takes_files) return " -r -F";
  return words.empty() ? " -x" : " -x -a " + fish_quoted(words);
}

void write_fish_page(std::ostream& out, const CommandPage& page) {
  const std::string begin =
      "complete -c memflame -n '__memflame_is" + (page.name.empty() ? "" : " " + page.name) + "'";
  for (const OptionFacts& option : options_of(page)) {
    out << begin << " -l " << option.long_name.substr(2);
    if (!option.short_name.empty()) out << " -s " << option.short_name.substr(1);
    if (!option.value.empty()) out << fish_value(option.completion, option.takes_files);
    out << " -d " << fish_quoted(option.help) << "\n";
  }
  if (page.operands == Operands::files) out << begin << " -F\n";
  for (size_t i = 0; i < page.places.size(); ++i)
    out << "complete -c memflame -n '__memflame_is " << page.name << "; and __memflame_at " << i + 2
        << "'" << fish_value(page.places[i], false) << "\n";
}

constexpr std::string_view fish_head =
    R"sh(# fish completion for memflame. Made by 'memflame --completion fish'.
# The words before the cursor: of this command (none: no command yet), and without "--".
function __memflame_is
    set -l words (commandline -opc)
    contains -- -- $words; and return 1
    if test (count $argv) -eq 0
        test (count $words) -lt 2; or string match -q -- '-*' $words[2]
    else
        test (count $words) -gt 1; and test $words[2] = $argv[1]
    end
end

function __memflame_at
    test (count (commandline -opc)) -eq $argv[1]
end

function __memflame_runs
    grep -slx memflame /proc/*/comm | string match -r '[0-9]+'
end

function __memflame_has_dashes
    contains -- -- (commandline -opc)
end

# What follows "--" is a command line of its own.
function __memflame_command
    set -l words (commandline -opc)
    set -l own (contains -i -- -- $words)
    set -l after (string escape -- $words[(math $own + 1)..])
    complete -C (string join ' ' -- $after (commandline -ct))
end

function __memflame_pids
    for process in (string match -r '^/proc/[0-9]+$' /proc/*)
        read -l name 2>/dev/null <$process/comm
        and printf '%s\t%s\n' (string replace /proc/ '' $process) $name
    end
end

function __memflame_comms
    cat /proc/*/comm 2>/dev/null | sort -u
end

complete -c memflame -f
complete -c memflame -n __memflame_has_dashes -a '(__memflame_command)'
)sh";

}  // namespace

void write_fish_completion(std::ostream& out, const std::vector<CommandPage>& pages) {
  out << fish_head;
  for (const CommandPage& page : pages)
    if (!page.name.empty())
      out << "complete -c memflame -n __memflame_is -a " << page.name << " -d "
          << fish_quoted(page.help) << "\n";
  for (const CommandPage& page : pages) write_fish_page(out, page);
}

}  // namespace memflame
