// SPDX-License-Identifier: BSD-2-Clause
// memflame: which code paths are eating the memory?
#include <array>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string_view>

#include "cli/commands.h"
#include "core/error.h"
#include "probes/privileges.h"
#include "probes/probe.h"
#include "render/clean_text.h"

namespace memflame {
namespace {

struct Stage {
  std::string_view name, help;
  int (*run)(const Arguments&);
};

constexpr Stage leaks{"leaks", "what is outstanding, printed again and again while it runs",
                      run_leaks};

constexpr std::array stages{
    Stage{"collapse", "read the stacks of any tool and merge equal ones", run_collapse},
    Stage{"diff", "compare two inputs, stack by stack", run_diff},
    Stage{"render", "draw the stacks of any tool as a flame graph", run_render},
};

void print_help(std::ostream& out) {
  out << "Usage: memflame COMMAND [OPTIONS]\n\n"
         "Which code paths are eating the memory of a running Linux program?\n\n"
         "Watch a process (-p PID), all of a name (--comm NAME) or a program (-- COMMAND):\n";
  const auto row = [&](std::string_view name, std::string_view help) {
    out << "  " << name << std::string(11 - name.size(), ' ') << help << "\n";
  };
  for (const Probe* probe : probes()) row(probe->name, probe->help);
  row(leaks.name, leaks.help);
  out << "\nWork on stacks:\n";
  for (const Stage& stage : stages) row(stage.name, stage.help);
  out << "\n'memflame COMMAND --help' lists the options of a command. 'memflame --version'.\n"
         "Exit codes: 0 done; 1 failed; 2 bad usage; 3 privilege or kernel feature missing;\n"
         "4 --strict and something was lost; 5 --check and frees look wrong; with '-- COMMAND' "
         "the\n"
         "command's own status where 4 or 5 does not say more: a failure of the command goes "
         "before\n"
         "5; 125 when memflame failed, 126 when the command cannot be executed, 127 when not "
         "found.\n";
}

int dispatch(const Arguments& arguments) {
  if (arguments.empty()) {
    print_help(std::cerr);
    return static_cast<int>(ExitCode::usage);
  }
  const std::string& name = arguments.front();
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (name == "--help" || name == "-h" || name == "help") {
    print_help(std::cout);
    return 0;
  }
  if (name == "--version") {
    std::cout << "memflame " MEMFLAME_VERSION "\n";
    return 0;
  }
  for (const Probe* probe : probes())
    if (probe->name == name) return run_probe_command(*probe, rest);
  if (leaks.name == name) return leaks.run(rest);
  for (const Stage& stage : stages) {
    if (stage.name != name) continue;
    keep_privileges_for(Step::writing);
    return stage.run(rest);
  }
  throw Error("there is no command '" + name + "'; see 'memflame --help'", ExitCode::usage);
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
    uint64_t replaced = 0;  // names of files and processes may be in it
    std::cerr << "memflame: error: " << memflame::clean_text(error.what(), replaced) << "\n";
    return static_cast<int>(error.exit_code);
  } catch (const std::bad_alloc&) {
    std::cerr << "memflame: error: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "memflame: error: " << error.what() << "\n";
  }
  return static_cast<int>(ExitCode::failure);
}
