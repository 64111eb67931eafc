// SPDX-License-Identifier: BSD-2-Clause
// memflame: which code paths are eating the memory?
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string_view>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/options.h"
#include "cli/runs/version.h"
#include "core/error.h"
#include "probes/probe.h"
#include "probes/run/privileges.h"
#include "render/text/clean_text.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

struct Stage {
  std::string_view name;
  int (*run)(const Arguments&);
  CommandPage (*page)();
  // Whether these arguments make it watch a target, for which it keeps its privileges.
  bool (*watches)(const Arguments&) = nullptr;
};

// Commands that are built on a probe.
constexpr std::array watchers{
    Stage{"heap", run_heap, heap_page}, Stage{"leaks", run_leaks, leaks_page},
    Stage{"record", run_record, record_page}, Stage{"top", run_top, top_page},
    Stage{"watch", run_watch, watch_page}};
constexpr std::array stages{Stage{"collapse", run_collapse, collapse_page},
                            Stage{"control", run_control, control_page},
                            Stage{"diff", run_diff, diff_page},
                            Stage{"query", run_query, query_page},
                            Stage{"render", run_render, render_page},
                            Stage{"report", run_report, report_page, is_live_report},
                            Stage{"store", run_store, store_page},
                            Stage{"symbolize", run_symbolize, symbolize_page},
                            Stage{"timeline", run_timeline, timeline_page}};

// The place of a command's table in the program's own help.
size_t table_of(const CommandPage& command) {
  if (command.name == "watch") return 0;  // its FILE names the processes
  switch (command.operands) {
    case Operands::command:
      return 0;
    case Operands::files:
      return 1;
    case Operands::none:
      break;
  }
  return 2;
}

std::vector<CommandPage> command_pages() {
  std::vector<CommandPage> pages;
  for (const Probe* probe : probes()) pages.push_back(probe_page(*probe));
  for (const Stage& watcher : watchers) pages.push_back(watcher.page());
  for (const Stage& stage : stages) pages.push_back(stage.page());
  return pages;
}

// The program's own page, which has no name.
CommandPage main_page(const std::vector<CommandPage>& commands) {
  CommandPage page{.help = "show which code paths eat the memory of a running program"};
  page.usages = {"COMMAND [OPTIONS]"};
  page.description =
      "Shows which code paths are eating the memory of a running Linux program. 'memflame COMMAND\n"
      "--help' lists the options of a command.";
  page.tables = {
      {.title = "Watch a process (-p PID), all of a name (--comm NAME) or a program (-- COMMAND)"},
      {.title = "Work on stacks"},
      {.title = "Ask a run that goes on"}};
  po::options_description options;
  std::vector<std::string> names{"memflame"};
  for (const CommandPage& command : commands) {
    names.push_back(command.name);
    page.tables[table_of(command)].rows.push_back({command.name, command.help});
  }
  options.add_options()("help,h", "show this");
  options.add_options()("version", "show the version");
  options.add_options()("man", one_of("COMMAND", names),
                        "print the manual page of a command, or of memflame, for 'man -l -'");
  options.add_options()("completion", one_of("SHELL", {"bash", "zsh", "fish"}),
                        "print the script that completes memflame's options in a shell");
  page.options = OptionGroups{options};
  page.examples = {{"memflame alloc -p 1234 -d 60 -o alloc.svg",
                    "show which code allocated what is not freed after a minute"},
                   {"memflame fault -d 10 -o system.svg",
                    "show which code makes pages resident, in the whole system"},
                   {"perf script | memflame render > graph.svg", "draw stacks of any other tool"}};
  return page;
}

// The pages of all commands; the program's own comes first.
std::vector<CommandPage> all_pages() {
  std::vector<CommandPage> pages = command_pages();
  std::vector<CommandPage> all{main_page(pages)};
  for (CommandPage& page : pages) all.push_back(std::move(page));
  return all;
}

void print_main_help(std::ostream& out) {
  CommandPage page = main_page(command_pages());
  NameTable statuses{.title = "Exit codes"};
  for (const ExitStatus& status : exit_statuses())
    statuses.rows.push_back({std::string(status.codes), std::string(status.meaning)});
  page.formats.push_back(std::move(statuses));
  print_help(out, page);
}

void print_man_page(const std::string& name) {
  const std::vector<CommandPage> pages = all_pages();
  for (const CommandPage& page : pages)
    if (page.name == (name == "memflame" ? "" : name))
      return write_man_page(std::cout, page, pages);
  throw Error("--man: there is no command '" + name + "'; see 'memflame --help'", ExitCode::usage);
}

int run_without_command(const Arguments& arguments) {
  const po::variables_map values = parse("", arguments, all_options(main_page(command_pages())));
  if (values.empty()) throw Error("there is no command; see 'memflame --help'", ExitCode::usage);
  if (values.count("help") != 0) print_main_help(std::cout);
  if (values.count("version") != 0) std::cout << "memflame " << version_text() << "\n";
  if (values.count("man") != 0) print_man_page(values["man"].as<std::string>());
  if (values.count("completion") != 0)
    write_completion(std::cout, values["completion"].as<std::string>(), all_pages());
  return 0;
}

// Beside a command, whose status memflame's is, its own failures have another one, also those from
// before the command is started: an output that cannot be written.
template <class Run>
int measure(const Arguments& arguments, const Run& run) {
  try {
    return run(arguments);
  } catch (const Error& error) {
    const bool has_command = std::ranges::find(arguments, "--") != arguments.end();
    if (!has_command || error.exit_code != ExitCode::failure) throw;
    throw Error(error.what(), ExitCode::command_failed, error.form);
  }
}

int dispatch(const Arguments& arguments) {
  if (arguments.empty()) {
    print_main_help(std::cerr);
    return static_cast<int>(ExitCode::usage);
  }
  const std::string& name = arguments.front();
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (name == "help") {
    print_main_help(std::cout);
    return 0;
  }
  if (name.starts_with('-')) return run_without_command(arguments);
  for (const Probe* probe : probes())
    if (probe->name == name)
      return measure(rest, [&](const Arguments& own) { return run_probe_command(*probe, own); });
  for (const Stage& watcher : watchers)
    if (watcher.name == name) return measure(rest, watcher.run);
  for (const Stage& stage : stages) {
    if (stage.name != name) continue;
    if (stage.watches != nullptr && stage.watches(rest)) return measure(rest, stage.run);
    keep_privileges_for(Step::writing);
    return stage.run(rest);
  }
  throw Error("there is no command '" + name + "'; see 'memflame --help'", ExitCode::usage);
}

// Names of files and processes may be in it.
std::string shown(const Error& error) {
  uint64_t replaced = 0;
  if (error.form == Error::Form::line) return clean_text(error.what(), replaced);
  std::string text;
  std::istringstream lines(error.what());
  for (std::string line; std::getline(lines, line);)
    text += (text.empty() ? "" : "\n") + clean_text(line, replaced);
  return text;
}

}  // namespace
}  // namespace memflame

int main(int argc, char** argv) {
  using memflame::Error;
  using memflame::ExitCode;
  try {
    const int code = memflame::dispatch({argv + 1, argv + argc});
    std::cout.flush();
    if (!std::cout) throw Error("standard output could not be written");
    return code;
  } catch (const Error& error) {
    std::cerr << "memflame: error: " << memflame::shown(error) << "\n";
    return static_cast<int>(error.exit_code);
  } catch (const std::bad_alloc&) {
    std::cerr << "memflame: error: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "memflame: error: " << error.what() << "\n";
  }
  return static_cast<int>(ExitCode::failure);
}
