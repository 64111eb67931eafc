// SPDX-License-Identifier: BSD-2-Clause
// memflame control: asks a memflame that counts.
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <set>
#include <sstream>
#include <vector>

#include "cli/options.h"
#include "cli/runs/control_socket.h"
#include "core/error.h"
#include "probes/system/procfs.h"
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

// The process itself, or the memflame that it works for: 'pidof' lists both, since they are one
// program. Those who work for one have names such as "memflame-page".
pid_t asked_process(pid_t pid) {
  if (!read_comm(pid).starts_with("memflame-")) return pid;
  const std::string parent =
      status_field(read_file("/proc/" + std::to_string(pid) + "/status"), "PPid");
  const pid_t other = static_cast<pid_t>(std::strtol(parent.c_str(), nullptr, 10));
  return other > 0 && has_control_socket(other) ? other : pid;
}

// The one memflame among these processes that can be asked; the first process if none can.
pid_t run_among(const std::vector<pid_t>& pids) {
  if (pids.size() == 1) return asked_process(pids.front());
  std::set<pid_t> counting;
  for (const pid_t pid : pids)
    if (const pid_t asked = asked_process(pid); has_control_socket(asked)) counting.insert(asked);
  if (counting.size() < 2) return counting.empty() ? pids.front() : *counting.begin();
  std::string list;
  for (const pid_t pid : counting) list += (list.empty() ? "" : ", ") + std::to_string(pid);
  throw Error("control: several memflames count now: " + list + "; name one of them",
              ExitCode::usage);
}

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

CommandPage control_page() {
  CommandPage page{
      .name = "control",
      .help = "ask a running memflame for its status, a mark or a picture, or resume it"};
  page.usages = {"PID status", "PID mark NAME", "PID snapshot", "PID resume"};
  page.description =
      "Asks the memflame whose process id is PID, while it watches something. PID may be the list "
      "that\n"
      "pidof prints, if one memflame in it counts. Only root and the user who started that "
      "memflame "
      "may\n"
      "ask, from the same network and PID namespace.";
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
  std::vector<pid_t> pids;
  for (const std::string& word : given) {
    if (!pids.empty() && !is_number(word)) break;
    if (given.size() > 1) pids.push_back(pid_in(word));
  }
  if (pids.size() >= given.size() || pids.empty())
    throw Error("control needs a process id and a request: memflame control PID status",
                ExitCode::usage);
  std::string message = given[pids.size()];
  for (size_t i = pids.size() + 1; i < given.size(); ++i) message += " " + given[i];
  const ControlRequest request = parse_control(message);
  const pid_t pid = run_among(pids);
  std::istringstream lines(
      ask_memflame(pid, message, request.word == ControlRequest::Word::snapshot));
  uint64_t replaced = 0;
  for (std::string line; std::getline(lines, line);)
    std::cout << clean_text(line, replaced) << "\n";
  return 0;
}

}  // namespace memflame
