// SPDX-License-Identifier: BSD-2-Clause
// What a command says of itself. Its --help, its manual page and what shells complete are made of
// this.
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

// What stands behind the options.
enum class Operands : uint8_t { none, files, command };

// The library does not let them be assigned.
using OptionGroups = std::vector<boost::program_options::options_description>;

struct CommandPage {
  std::string name{};                 // "alloc"; "" is memflame itself
  std::string help{};                 // one line
  std::vector<std::string> usages{};  // what follows the name
  std::string description{};          // paragraphs; ends without a newline
  std::vector<NameTable> tables{};    // before the options
  OptionGroups options{};
  std::vector<NameTable> formats{};  // behind the options
  std::vector<Example> examples{};
  Operands operands = Operands::none;
};

struct ExitStatus {
  std::string_view codes;
  std::string_view meaning;
  bool of_probes = false;  // only commands that watch something have it
};
const std::vector<ExitStatus>& exit_statuses();

// All options in one list, to be parsed.
boost::program_options::options_description all_options(const CommandPage& page);
// "Target"; "" when the group has none.
std::string title_of(const boost::program_options::options_description& group);

// An option as shells and manual pages have it.
struct OptionFacts {
  std::string long_name{};   // "--pid"
  std::string short_name{};  // "-p"; may be ""
  std::string value{};       // "PID"; "" when it takes none
  std::string help{};
  Completion completion{};
  bool takes_files = false;
  bool repeats = false;  // may be given several times
};
OptionFacts facts_of(const boost::program_options::option_description& option);

void print_help(std::ostream& out, const CommandPage& page);

}  // namespace memflame
