// SPDX-License-Identifier: BSD-2-Clause
#include <map>

#include "cli/completion.h"

namespace memflame {
namespace {

// What the script does with an option's value: the name of an action, then the words to offer.
std::string action_of(const Completion& completion, bool takes_files) {
  const std::string words = joined(completion.words, " ");
  switch (completion.offer) {
    case Offer::pids:
      return "pids";
    case Offer::comms:
      return "comms";
    case Offer::users:
      return "users";
    case Offer::runs:
      return "runs";
    case Offer::list:
      return "list " + words;
    case Offer::words_or_files:
      return "files " + words;
    case Offer::words:
      break;
  }
  if (takes_files) return "files";
  return words.empty() ? "nothing" : "words " + words;
}

// "'alloc --format' | 'brk --format') action='words svg html' ;;", one for all options that are
// completed alike.
void write_actions(std::ostream& out, const std::vector<CommandPage>& pages) {
  std::map<std::string, std::vector<std::string>> by_action;
  for (const CommandPage& page : pages)
    for (const OptionFacts& option : options_of(page)) {
      if (option.value.empty()) continue;
      std::vector<std::string>& patterns =
          by_action[action_of(option.completion, option.takes_files)];
      for (const std::string& name : {option.long_name, option.short_name})
        if (!name.empty()) patterns.push_back(shell_quoted(page.name + " " + name));
    }
  out << "  case \"$command $previous\" in\n";
  for (const auto& [action, patterns] : by_action)
    out << "    " << joined(patterns, " | \\\n    ") << ")\n      action=" << shell_quoted(action)
        << " ;;\n";
  out << "  esac\n";
}

// "'control 2') place='runs' ;;": by the command and the number of the word.
void write_places(std::ostream& out, const std::vector<CommandPage>& pages) {
  out << "  case \"$command $COMP_CWORD\" in\n";
  for (const CommandPage& page : pages)
    for (size_t i = 0; i < page.places.size(); ++i)
      out << "    " << shell_quoted(page.name + " " + std::to_string(i + 2))
          << ") place=" << shell_quoted(action_of(page.places[i], false)) << " ;;\n";
  out << "  esac\n";
}

std::string_view operands_of(const CommandPage& page) {
  switch (page.operands) {
    case Operands::files:
      return "files";
    case Operands::command:
      return "command";
    case Operands::none:
      break;
  }
  return "nothing";
}

void write_names(std::ostream& out, const std::vector<CommandPage>& pages) {
  out << "  case \"$command\" in\n";
  for (const CommandPage& page : pages) {
    std::vector<std::string> names;
    for (const OptionFacts& option : options_of(page)) {
      names.push_back(option.long_name);
      if (!option.short_name.empty()) names.push_back(option.short_name);
    }
    if (page.operands == Operands::command) names.emplace_back("--");
    if (page.name.empty())
      for (const CommandPage& command : pages) names.push_back(command.name);
    out << "    " << shell_quoted(page.name) << ") rest=" << operands_of(page)
        << " words=" << shell_quoted(joined(names, " ")) << " ;;\n";
  }
  out << "  esac\n";
}

// The rest of the script. Bash breaks words at '=' (COMP_WORDBREAKS), so "--format=svg" comes as
// three words.
constexpr std::string_view bash_head =
    R"sh(# bash completion for memflame. Made by 'memflame --completion bash'.
_memflame() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command='' words='' action='' place=''
  local rest=nothing before='' file i
  ((COMP_CWORD == 1)) || command=${COMP_WORDS[1]}
  [[ $command != -* ]] || command=''
  COMPREPLY=()
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
)sh";
constexpr std::string_view bash_tail = R"sh(
  for ((i = 2; i < COMP_CWORD; ++i)); do
    [[ $rest == command && ${COMP_WORDS[i]} == -- ]] || continue
    if declare -F _comp_command_offset >/dev/null; then
      _comp_command_offset $((i + 1))
    elif declare -F _command_offset >/dev/null; then
      _command_offset $((i + 1))
    elif ((i + 1 == COMP_CWORD)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$current")
    else
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
    return
  done

  if [[ -z $action ]]; then
    if [[ -n $place && $current != -* ]]; then action=$place
    elif [[ $current == -* || $rest != files ]]; then action="words $words"; else action="files $words"; fi
  fi
  [[ $action != *' '* ]] || words=${action#* }
  [[ $action == *' '* ]] || words=''
  case $action in
    pids | list*)
      [[ $current != *,* ]] || before=${current%,*},
      if [[ $action == pids ]]; then
        for file in /proc/[0-9]*; do words+=" ${file#/proc/}"; done
      fi ;;
    comms)
      mapfile -t COMPREPLY < <(cat /proc/[0-9]*/comm 2>/dev/null | sort -u | grep -F -- "$current" |
                               while IFS= read -r file; do
                                 [[ $file != "$current"* ]] || printf '%q\n' "$file"
                               done)
      return ;;
    runs)
      for file in $(grep -slx memflame /proc/[0-9]*/comm); do words+=" ${file//[^0-9]/}"; done ;;
    users)
      mapfile -t COMPREPLY < <(compgen -u -- "$current")
      return ;;
    files*)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
  esac
  # Readline knows more of files than compgen: a tilde, for example.
  [[ $action != files* || ${#COMPREPLY[@]} != 0 ]] || compopt -o default
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -P "$before" -W "$words" -- "${current#"$before"}")
  [[ $action != pids && $action != list* ]] || compopt -o nospace
}
complete -F _memflame memflame
)sh";

}  // namespace

void write_bash_completion(std::ostream& out, const std::vector<CommandPage>& pages) {
  out << bash_head;
  write_names(out, pages);
  write_actions(out, pages);
  write_places(out, pages);
  out << bash_tail;
}

}  // namespace memflame
