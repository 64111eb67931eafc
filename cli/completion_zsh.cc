// SPDX-License-Identifier: BSD-2-Clause
#include "cli/completion.h"

namespace memflame {
namespace {

// Escapes text for a specification of _arguments.
std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// ":NAME:how to complete it"
std::string zsh_value(const std::string& name, const Completion& completion, bool takes_files) {
  const std::string words = joined(completion.words, " ");
  std::string action;
  switch (completion.offer) {
    case Offer::pids:
      action = "_memflame_pids";
      break;
    case Offer::comms:
      action = "_memflame_comms";
      break;
    case Offer::users:
      action = "_users";
      break;
    case Offer::runs:
      action = "_memflame_runs";
      break;
    case Offer::list:
      action = "_sequence compadd - " + words;
      break;
    case Offer::words_or_files:
      action = "{ _memflame_words_or_files " + words + " }";
      break;
    case Offer::words:
      if (!words.empty()) action = "(" + words + ")";
      if (takes_files) action = "_files";
  }
  return ":" + escaped(name, ":") + ":" + (action.empty() ? " " : action);
}

void write_zsh_option(std::ostream& out, const OptionFacts& option) {
  const bool has_value = !option.value.empty();
  const std::string rest =
      "[" + escaped(option.help, "[]\\") + "]" +
      (has_value ? zsh_value(option.value, option.completion, option.takes_files) : "");
  const std::string value = has_value ? "=" : "";
  if (option.short_name.empty()) {
    out << " \\\n    "
        << shell_quoted((option.repeats ? "*" : "") + option.long_name + value + rest);
    return;
  }
  out << " \\\n    " << shell_quoted("(" + option.short_name + " " + option.long_name + ")") << "{"
      << option.short_name << (value.empty() ? "" : "+") << "," << option.long_name << value << "}"
      << shell_quoted(rest);
}

void write_zsh_page(std::ostream& out, const CommandPage& page) {
  out << "_memflame_" << page.name << "() {\n  _arguments -s -S";
  for (const OptionFacts& option : options_of(page)) write_zsh_option(out, option);
  for (size_t i = 0; i < page.places.size(); ++i)
    out << " \\\n    "
        << shell_quoted(std::to_string(i + 1) + zsh_value("operand", page.places[i], false));
  if (page.operands == Operands::files) out << " \\\n    '*:file:_files'";
  if (page.operands == Operands::command) out << " \\\n    '*::command:_memflame_command'";
  out << "\n}\n\n";
}

void write_main(std::ostream& out, const CommandPage& page, const std::vector<CommandPage>& pages) {
  out << "_memflame() {\n"
         "  local -a commands\n"
         "  commands=(\n";
  for (const CommandPage& command : pages)
    if (!command.name.empty())
      out << "    " << shell_quoted(escaped(command.name, ":") + ":" + command.help) << "\n";
  out << "  )\n"
         "  local context state state_descr line\n"
         "  typeset -A opt_args\n"
         "  _arguments -S";
  for (const OptionFacts& option : options_of(page)) write_zsh_option(out, option);
  out << " \\\n"
         "    '1:command:{ _describe command commands }' '*:: :->rest'\n"
         "  [[ $state == rest ]] && (( $+functions[_memflame_$words[1]] )) && _memflame_$words[1]\n"
         "}\n\n";
}

constexpr std::string_view zsh_head = R"sh(#compdef memflame
# zsh completion for memflame. Made by 'memflame --completion zsh'.

_memflame_pids() {
  local -a pids
  pids=(/proc/<->(N:t))
  _sequence compadd - $pids
}

_memflame_runs() {
  local -a files
  files=(${(f)"$(grep -slx memflame /proc/<->/comm)"})
  compadd - ${${files#/proc/}%/comm}
}

_memflame_words_or_files() {
  _alternative "words:word:($*)" 'files:file:_files'
}

# What follows "--" is a command line of its own.
_memflame_command() {
  local dashes=$words[(i)--]
  (( dashes < CURRENT )) || return 1
  shift $dashes words
  (( CURRENT -= dashes ))
  _normal
}

_memflame_comms() {
  local -a names
  names=(${(f)"$(cat /proc/<->/comm 2>/dev/null)"})
  compadd -a names
}

)sh";

// compinit loads it as a function and calls it at once; a script that is sourced registers it.
constexpr std::string_view zsh_tail = R"sh(if [[ $funcstack[1] == _memflame ]]; then
  _memflame "$@"
else
  compdef _memflame memflame
fi
)sh";

}  // namespace

void write_zsh_completion(std::ostream& out, const std::vector<CommandPage>& pages) {
  out << zsh_head;
  for (const CommandPage& page : pages)
    if (page.name.empty())
      write_main(out, page, pages);
    else
      write_zsh_page(out, page);
  out << zsh_tail;
}

}  // namespace memflame
