// SPDX-License-Identifier: BSD-2-Clause
#include "cli/command_page.h"

#include <algorithm>
#include <sstream>

namespace po = boost::program_options;

namespace memflame {
namespace {

constexpr size_t line_length = 100;

// Breaks the text into lines and indents all but the first.
void print_wrapped(std::ostream& out, const std::string& text, size_t indent) {
  std::istringstream words(text);
  size_t column = indent;
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > line_length) {
      out << "\n" << std::string(indent, ' ');
      column = indent;
    }
    out << (column > indent ? " " : "") << word;
    column += word.size() + (column > indent ? 1 : 0);
  }
  out << "\n";
}

void print_table(std::ostream& out, const NameTable& table) {
  size_t width = 0;
  for (const NameRow& row : table.rows) width = std::max(width, row.name.size());
  out << "\n" << table.title << ":\n";
  for (const NameRow& row : table.rows) {
    out << "  " << row.name << std::string(width + 2 - row.name.size(), ' ');
    print_wrapped(out, row.meaning, width + 4);
  }
}

}  // namespace

const std::vector<ExitStatus>& exit_statuses() {
  static const std::vector<ExitStatus> all{
      {"0", "done", false, true},
      {"1",
       "run-time error: bad target, nothing could be seen, unreadable input, unwritable output",
       false, true},
      {"2", "command line not understood", false, true},
      {"3", "a privilege or a kernel feature is missing", true, true},
      {"4", "--strict, and something was lost, or stacks were cut"},
      {"5", "--check, and frees look wrong; or leaks --fail-on or --fail-if-leaked, and it fails",
       true},
      {"125, 126, 127",
       "with '-- COMMAND': memflame failed; the command cannot be executed; it was not found. The "
       "status is otherwise the command's own; its failure takes precedence over 5, and 4 over "
       "both",
       true},
  };
  return all;
}

bool may_exit(const CommandPage& page, const ExitStatus& status) {
  if (page.name.empty() || page.operands == Operands::command) return true;
  return page.operands == Operands::files ? !status.of_probes : status.of_control;
}

po::options_description all_options(const CommandPage& page) {
  po::options_description all;
  for (const po::options_description& group : page.options) all.add(group);
  return all;
}

std::string title_of(const po::options_description& group) {
  // The library cannot be asked for it, but prints it to a stream.
  std::ostringstream text;
  text << group;
  std::string line = text.str();
  line.resize(std::min(line.size(), line.find('\n')));
  if (line.starts_with(' ') || !line.ends_with(':')) return "";
  line.pop_back();
  return line;
}

OptionFacts facts_of(const po::option_description& option) {
  OptionFacts facts{.long_name = "--" + option.long_name(), .help = option.description()};
  const std::string shortest =
      option.canonical_display_name(po::command_line_style::allow_dash_for_short);
  if (shortest.starts_with('-')) facts.short_name = shortest;
  if (option.semantic()->max_tokens() == 0) return facts;
  facts.value = option.semantic()->name();
  facts.takes_files = facts.value == "FILE" || facts.value == "PATH";
  facts.repeats = dynamic_cast<const po::typed_value<std::vector<std::string>>*>(
                      option.semantic().get()) != nullptr;
  if (const auto* has = dynamic_cast<const HasCompletion*>(option.semantic().get())) {
    facts.completion = has->completion;
    facts.takes_files |= has->completion.offer == Offer::words_or_files;
  }
  return facts;
}

void print_help(std::ostream& out, const CommandPage& page) {
  std::string_view before = "Usage: ";
  for (const std::string& usage : page.usages) {
    out << before << "memflame " << page.name << (page.name.empty() ? "" : " ") << usage << "\n";
    before = "       ";
  }
  out << "\n" << page.description << "\n";
  for (const NameTable& table : page.tables) print_table(out, table);
  out << all_options(page);
  for (const NameTable& table : page.formats) print_table(out, table);
  out << "\nExamples:\n";
  for (const Example& example : page.examples)
    out << "  " << example.command << "\n      " << example.meaning << "\n";
}

}  // namespace memflame
