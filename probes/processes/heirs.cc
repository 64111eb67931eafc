// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/heirs.h"

#include <algorithm>
#include <string_view>

#include "probes/processes/procfs.h"

namespace memflame {
namespace {

bool has_variable(std::string_view environment, std::string_view variable) {
  while (!environment.empty()) {
    const std::string_view each = environment.substr(0, environment.find('\0'));
    if (each == variable) return true;
    environment.remove_prefix(std::min(each.size() + 1, environment.size()));
  }
  return false;
}

}  // namespace

std::vector<pid_t> processes_with(const std::string& variable) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_pids())
    if (has_variable(read_file(proc_path(pid, "environ")), variable)) found.push_back(pid);
  return found;
}

}  // namespace memflame
