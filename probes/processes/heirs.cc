// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/heirs.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr size_t most_found = 4096;

// Children that this process started itself. One list, as the process as a whole adopts.
std::vector<pid_t> started_before;

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::ranges::find(pids, pid) != pids.end();
}

// 0 if it is gone, or in another PID namespace.
pid_t parent_of(pid_t pid) {
  return std::atoi(status_field(read_file(proc_path(pid, "status")), "PPid").c_str());
}

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

std::vector<pid_t> with_descendants(const std::vector<pid_t>& of) {
  std::vector<pid_t> found = of;
  for (size_t i = 0; i < found.size() && i < most_found; ++i)
    for (const pid_t child : children_of(found[i]))
      if (!contains(of, child)) found.push_back(child);
  return found;
}

// A parent may end between two steps: then the way up is another one.
bool descends_from(pid_t pid, const std::vector<pid_t>& ancestors) {
  constexpr int most_tries = 3;
  constexpr size_t most_generations = 1024;
  for (int tries = 0; tries < most_tries; ++tries) {
    pid_t at = pid;
    for (size_t i = 0; i < most_generations && at > 1; ++i, at = parent_of(at))
      if (contains(ancestors, at)) return true;
    if (at == 1) break;
  }
  return false;
}

void adopt_orphans() {
  started_before = children_of_thread(::getpid(), ::getpid());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

std::vector<pid_t> orphans() {
  std::vector<pid_t> children = children_of_thread(::getpid(), ::getpid());
  std::erase_if(children, [](pid_t child) { return contains(started_before, child); });
  return children;
}

// Other threads have children of their own (__WNOTHREAD).
void reap_orphans() {
  siginfo_t ended{};
  if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT | __WNOTHREAD) != 0 ||
      ended.si_pid == 0)
    return;
  for (const pid_t orphan : orphans()) ::waitpid(orphan, nullptr, WNOHANG | __WNOTHREAD);
}

}  // namespace memflame
