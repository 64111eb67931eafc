// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/process_name.h"

#include "probes/system/procfs.h"

namespace memflame {
namespace {

// A comm that is not the name of what was started.
bool tells_nothing(std::string_view comm) {
  return comm == "exe" ||
         (!comm.empty() && comm.find_first_not_of("0123456789") == std::string_view::npos);
}

}  // namespace

std::string started_as(std::string_view comm, std::string_view arguments) {
  constexpr size_t longest = 255;
  std::string_view name = arguments.substr(0, arguments.find('\0'));
  name = name.substr(name.rfind('/') + 1).substr(0, longest);
  // What a server has written over its arguments ("nginx: worker process") is not a name.
  const bool is_name = !name.empty() && name.find(' ') == std::string_view::npos;
  return std::string(is_name && tells_nothing(comm) ? name : comm);
}

std::string name_of_process(pid_t pid, std::string_view comm, const std::string& known) {
  if (!tells_nothing(comm)) return std::string(comm);
  if (!known.empty() && !tells_nothing(known)) return known;
  const std::string arguments = read_file(proc_path(pid, "cmdline"));
  // By now it may run another program.
  return started_as(comm, read_comm(pid) == comm ? arguments : "");
}

}  // namespace memflame
