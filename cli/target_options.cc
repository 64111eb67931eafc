// SPDX-License-Identifier: BSD-2-Clause
#include "cli/target_options.h"

#include <algorithm>
#include <sstream>

#include "cli/completed.h"
#include "cli/option_rows.h"
#include "cli/options.h"
#include "cli/runs/durations.h"
#include "cli/runs/typed_target.h"
#include "core/error.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

void read_cgroups(const po::variables_map& values, Target& target) {
  for (const CgroupOption& option : cgroup_options) {
    std::vector<std::string> names;
    take(values, option.name, names);
    for (const std::string& name : names) {
      if (name.empty())
        throw Error("--" + std::string(option.name) + " needs a name", ExitCode::usage);
      target.cgroups.push_back({option.kind, name});
    }
  }
}

}  // namespace

std::vector<pid_t> parse_pids(const std::string& text) {
  std::vector<pid_t> pids;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) {
    size_t used = 0;
    int pid = 0;
    try {
      pid = std::stoi(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != word.size() || pid <= 0)
      throw Error("-p " + text + ": '" + word + "' is not a process id", ExitCode::usage);
    if (std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
  }
  if (pids.empty()) throw Error("-p needs a process id", ExitCode::usage);
  return pids;
}

po::options_description target_options() {
  po::options_description options("Target");
  options.add_options()("pid,p", completed("PID", {Offer::pids}),
                        "processes to attach to: PID[,PID...]");
  options.add_options()("comm", completed("NAME", {Offer::comms}),
                        "every process of this name, including those that start later");
  options.add_options()("program", po::value<std::string>()->value_name("PATH"),
                        "every process of this executable, also one that starts later: PATH, or a "
                        "name without folders. These three can be given together, and with --comm "
                        "or a cgroup; processes are looked for every 5 seconds");
  options.add_options()("owner", completed("NAME", {Offer::users}), "every process of this user");
  options.add_options()("above", po::value<std::string>()->value_name("SIZE"),
                        "every process that has at least SIZE of resident memory: 2G. It stays "
                        "watched when it has less again");
  options.add_options()("cgroup", po::value<std::vector<std::string>>()->value_name("PATH"),
                        "every process in this cgroup (v2) and below, including new ones: PATH");
  options.add_options()("container", po::value<std::vector<std::string>>()->value_name("ID"),
                        "the same for a container of docker, podman, containerd or CRI-O: ID, or "
                        "its first characters");
  options.add_options()("unit", po::value<std::vector<std::string>>()->value_name("NAME"),
                        "the same for a systemd unit: NAME. Each of these three can be given "
                        "several times");
  options.add_options()("user", completed("NAME", {Offer::users}),
                        "run COMMAND as this user (default: the user who called sudo, else root)");
  options.add_options()("no-children", po::bool_switch(),
                        "do not follow processes that the target starts");
  return options;
}

std::string target_choices() {
  return "-p PID, --comm NAME, --program PATH, --owner NAME, --above SIZE, --cgroup PATH, "
         "--container ID, --unit NAME or -- COMMAND";
}

Target read_target(const po::variables_map& values, const Arguments& command) {
  Target target;
  if (values.count("pid") != 0) target.pids = parse_pids(values["pid"].as<std::string>());
  take(values, "comm", target.comm);
  take(values, "program", target.program);
  take(values, "owner", target.owner);
  if (values.count("above") != 0)
    target.above = static_cast<int64_t>(parse_bytes("--above", values["above"].as<std::string>()));
  take(values, "user", target.user);
  target.command = command;
  target.follow_children = !values["no-children"].as<bool>();
  read_cgroups(values, target);
  const int ways = int{!target.pids.empty()} + int{!target.comm.empty()} +
                   int{!target.cgroups.empty()} + int{!command.empty()};
  if (ways > 1)
    throw Error(
        "-p, --comm, -- COMMAND and cgroups (--cgroup, --container, --unit) are mutually exclusive",
        ExitCode::usage);
  if (target.by_scan() && !(target.pids.empty() && command.empty()))
    throw Error(
        "--program, --owner and --above choose among processes that run: leave out -p and "
        "-- COMMAND",
        ExitCode::usage);
  if (!target.user.empty() && command.empty())
    throw Error("--user needs '-- COMMAND'", ExitCode::usage);
  // The kernel keeps 15 bytes of a name.
  if (target.comm.size() > 15)
    throw Error("--comm " + target.comm +
                    ": the kernel knows processes by 15 bytes of their name: --comm '" +
                    target.comm.substr(0, 15) + "'",
                ExitCode::usage);
  return target;
}

void check_target(const Target& target) {
  if (!target.cgroups.empty() && !target.follow_children)
    throw Error("--no-children: all processes of a cgroup are watched, children too: use -p",
                ExitCode::usage);
}

}  // namespace memflame
