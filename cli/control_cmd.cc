// SPDX-License-Identifier: BSD-2-Clause
// memflame control: asks a memflame that counts.
#include <charconv>
#include <iostream>
#include <sstream>

#include "cli/control_socket.h"
#include "cli/options.h"
#include "core/error.h"
#include "render/text/clean_text.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

pid_t pid_in(const std::string& text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || end != text.data() + text.size() || pid <= 0)
    throw Error(
        "control: '" + text + "' is not a process id; 'pidof memflame' lists those of memflame",
        ExitCode::usage);
  return pid;
}

}  // namespace

CommandPage control_page() {
  CommandPage page{
      .name = "control",
      .help = "ask a running memflame for its status, a mark or a picture, or resume it"};
  page.usages = {"PID status", "PID mark NAME", "PID snapshot", "PID resume"};
  page.description =
      "Asks the memflame whose process id is PID, while it watches something. Only root and the "
      "user\n"
      "who started that memflame may ask, from the same network and PID namespace.";
  page.tables = {{.title = "Requests",
                  .rows = {{"status", "print what it watches, since when, and what it has lost"},
                           {"mark NAME", "name this moment in a recording (memflame record)"},
                           {"snapshot",
                            "write the result so far into a numbered file, as SIGUSR1 does, and "
                            "print the file's name when it is complete"},
                           {"resume", "let counting begin (memflame record --start-paused)"}}}};
  page.places = {{Offer::runs}, {Offer::words, {"mark", "resume", "snapshot", "status"}}};
  page.options = OptionGroups{general_options()};
  page.examples = {{"memflame control $(pidof memflame) status", "show how the run goes"},
                   {"memflame control 4321 mark 'cache filled'",
                    "name this moment; memflame timeline shows it"}};
  return page;
}

int run_control(const Arguments& arguments) {
  const CommandPage page = control_page();
  po::options_description words;
  words.add_options()("word", po::value<std::vector<std::string>>());
  const po::variables_map values = parse(page.name, arguments, all_options(page), words, "word");
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return 0;
  }
  std::vector<std::string> given;
  take(values, "word", given);
  if (given.size() < 2)
    throw Error("control needs a process id and a request: memflame control PID status",
                ExitCode::usage);
  const pid_t pid = pid_in(given[0]);
  std::string message = given[1];
  for (size_t i = 2; i < given.size(); ++i) message += " " + given[i];
  const ControlRequest request = parse_control(message);
  std::istringstream lines(
      ask_memflame(pid, message, request.word == ControlRequest::Word::snapshot));
  uint64_t replaced = 0;
  for (std::string line; std::getline(lines, line);)
    std::cout << clean_text(line, replaced) << "\n";
  return 0;
}

}  // namespace memflame
