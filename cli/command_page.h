// SPDX-License-Identifier: BSD-2-Clause
// A command's description, from which its --help, its manual page and shell completion are made.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/completed.h"

namespace memflame {

// Names, and what each means.
struct NameRow {
  std::string name, meaning;
};
struct NameTable {
  std::string title;
  std::vector<NameRow> rows{};
};

struct Example {
  std::string command;  // as typed
  std::string meaning;
};

// What follows the options.
enum class Operands : uint8_t { none, files, command };

// options_description cannot be assigned; a vector of it can.
using OptionGroups = std::vector<boost::program_options::options_description>;

struct CommandPage {
  std::string name{};                 // "alloc"; "" is memflame itself
  std::string help{};                 // one line
  std::vector<std::string> usages{};  // what follows the name
  std::string description{};          // paragraphs; ends without a newline
  std::vector<NameTable> tables{};    // before the options
  OptionGroups options{};
  std::vector<NameTable> formats{};  // after the options
  std::vector<Example> examples{};
  Operands operands = Operands::none;
  std::vector<Completion> places{};  // what the first operands are, if each has its own meaning
};

struct ExitStatus {
  std::string_view codes;
  std::string_view meaning;
  bool of_probes = false;   // only for commands that watch something
  bool of_control = false;  // also for the command that asks them
};
// Whether a command may exit so.
bool may_exit(const CommandPage& page, const ExitStatus& status);
const std::vector<ExitStatus>& exit_statuses();

// All options in one list, to be parsed.
boost::program_options::options_description all_options(const CommandPage& page);
// "Target"; "" if the group has none.
std::string title_of(const boost::program_options::options_description& group);

// An option as shells and manual pages have it.
struct OptionFacts {
  std::string long_name{};   // "--pid"
  std::string short_name{};  // "-p"; may be ""
  std::string value{};       // "PID"; "" if it takes none
  std::string help{};
  Completion completion{};
  bool takes_files = false;
  bool repeats = false;  // may be given several times
};
OptionFacts facts_of(const boost::program_options::option_description& option);

void print_help(std::ostream& out, const CommandPage& page);

}  // namespace memflame
